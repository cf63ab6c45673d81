"""Pictures for tests, drawn with Pillow; and a study whose texts ask for them."""

from __future__ import annotations

import base64
import json
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from storage.yaml_text import yaml_text

FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
ASKED = "Where does the line go?\n\n![A line that falls from the left to the right](charts/right-answer-b.png)"


def drawn(width: int = 480, height: int = 240, format_: str = "PNG", *, rising: bool = False) -> bytes:
    image = Image.new("RGB", (width, height), "white")
    ends = (0, height - 1, width - 1, 0) if rising else (0, 0, width - 1, height - 1)
    ImageDraw.Draw(image).line(ends, fill="#1b4f9c", width=max(1, height // 40))
    ImageDraw.Draw(image).rectangle((0, 0, width - 1, height - 1), outline="#888888")
    out = BytesIO()
    image.save(out, format_)
    return out.getvalue()


def photo(width: int = 40, height: int = 30, note: str = "", orientation: int = 1) -> bytes:
    """A JPEG of a camera: half black and half white, with where it was taken and how it is turned."""
    image, exif, out = Image.new("RGB", (width, height), "white"), Image.Exif(), BytesIO()
    ImageDraw.Draw(image).rectangle((0, 0, width // 2, height), fill="black")
    exif[0x0112] = orientation
    if note:
        exif[0x010E] = note
    image.save(out, "JPEG", exif=exif, comment=note)
    return out.getvalue()


def uri(content: bytes, type_: str = "image/png") -> str:
    return f"data:{type_};base64,{base64.b64encode(content).decode()}"


def study(folder: Path, name: str = "charts", **more: Any) -> Path:
    """A study with pictures beside its items, beside the study and within a text: in a consent, a question with
    options, a survey, a finished conversation."""
    items = folder / "items"
    (items / "charts").mkdir(parents=True, exist_ok=True)
    (items / "charts" / "right-answer-b.png").write_bytes(drawn())
    (items / "up.gif").write_bytes(drawn(160, 90, "GIF", rising=True))
    (folder / "logo.webp").write_bytes(drawn(120, 60, "WEBP"))
    item = {
        "id": "line",
        "text": ASKED,
        "options": [
            {"key": "A", "text": "![It rises](up.gif)"},
            {"key": "B", "text": f"![It falls]({uri(drawn(160, 90))})"},
        ],
        "answer": "B",
    }
    talk = {
        "id": "talk",
        "dialogue": [
            {"role": "user", "text": "What is this? ![A rising line](up.gif)"},
            {"role": "bot", "text": "See ![there](https://example.org/a.png)."},
        ],
        "text": "A conversation about a line.",
    }
    (items / "items.jsonl").write_text(json.dumps(item) + "\n", encoding="utf-8")
    (items / "talks.jsonl").write_text(json.dumps(talk) + "\n", encoding="utf-8")
    good = {
        "type": "single_choice",
        "name": "good",
        "text": "Is ![this line](logo.webp) good?",
        "options": ["Yes", "No"],
    }
    raw = {
        "study": name,
        "version": 1,
        "title": "Charts",
        "contact": "charts@example.org",
        "problems": {
            "q": {"source": "jsonl", "path": "items/items.jsonl"},
            "talks": {"source": "jsonl", "path": "items/talks.jsonl"},
        },
        "models": {"tutor": {"backend": "scripted", "options": {"first_ms": 0, "pace_ms": 0}}},
        "flow": [
            {"step": "consent", "text": "Please agree.\n\n![The logo](logo.webp)"},
            {"each": "question", "of": "q", "order": "listed", "do": "user-alone"},
            {
                "each": "talk",
                "of": "talks",
                "order": "listed",
                "flow": [{"step": "survey", "show_dialogue": True, "questions": [good]}],
            },
            {"step": "finish", "code": "X"},
        ],
        **more,
    }
    path = folder / "study.yaml"
    path.write_text(yaml_text(raw), encoding="utf-8")
    return path
