"""An oTree project of the load's flow: consent, a survey, confidence, a question alone, the same with a chat, the end.

Written as its manual does such a study: pages with forms, and one page whose `live_method` is an async generator that
passes on each piece of the reply. Everybody is a group of their own, so that nobody is told of others' replies.
"""

from __future__ import annotations

from pathlib import Path

CONFIG, KEY = "talk", "rest-key-of-the-bench"
SETTINGS = f"""
SESSION_CONFIGS = [dict(name="{CONFIG}", app_sequence=["{CONFIG}"], num_demo_participants=1)]
SESSION_CONFIG_DEFAULTS = dict(real_world_currency_per_point=1.0, participation_fee=0.0, doc="")
PARTICIPANT_FIELDS, SESSION_FIELDS = [], []
LANGUAGE_CODE, REAL_WORLD_CURRENCY_CODE, USE_POINTS = "en", "USD", True
ADMIN_USERNAME, ADMIN_PASSWORD, DEMO_PAGE_INTRO_HTML, SECRET_KEY = "admin", "admin", "", "0123456789"
"""
APP = """
import json, os
import aiohttp
from otree.api import *

class C(BaseConstants):
    NAME_IN_URL = "talk"
    PLAYERS_PER_GROUP = None
    NUM_ROUNDS = 1

class Subsession(BaseSubsession):
    pass

class Group(BaseGroup):
    pass

def one_of(*choices):
    return models.StringField(choices=list(choices), widget=widgets.RadioSelect)

class Player(BasePlayer):
    agreed = one_of("on")
    heard = one_of("From a friend", "Elsewhere")
    confidence = one_of("not-confident", "somewhat-confident", "very-confident")
    answer = one_of("A", "B", "C", "D")

class Message(ExtraModel):
    player = models.Link(Player)
    role = models.StringField()
    text = models.LongStringField()

def creating_session(subsession):
    subsession.set_group_matrix([[player] for player in subsession.get_players()])

CLIENT = []

def client():
    if not CLIENT:
        CLIENT.append(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
    return CLIENT[0]

class Consent(Page):
    form_model, form_fields = "player", ["agreed"]

class Survey(Page):
    form_model, form_fields = "player", ["heard"]

class Confidence(Page):
    form_model, form_fields = "player", ["confidence"]

class Alone(Page):
    form_model, form_fields = "player", ["answer"]

class Chat(Page):
    form_model, form_fields = "player", ["answer"]

    @staticmethod
    async def live_method(player, data):
        mine = player.id_in_group
        Message.create(player=player, role="user", text=data["text"])
        said = [dict(role=one.role, content=one.text) for one in Message.filter(player=player)]
        body, text = {"model": "load-1", "messages": said, "stream": True}, ""
        async with client().post(os.environ["MODEL_URL"] + "/chat/completions", json=body) as answer:
            async for line in answer.content:
                if line.startswith(b"data: {"):
                    choices = json.loads(line[6:])["choices"]
                    piece = choices[0]["delta"].get("content") if choices else None
                    if piece:
                        text += piece
                        yield {mine: {"piece": piece}}
        Message.create(player=player, role="assistant", text=text)
        yield {mine: {"done": True}}

class End(Page):
    pass

page_sequence = [Consent, Survey, Confidence, Alone, Chat, End]
"""
PAGE = """{{{{ block title }}}}{name}{{{{ endblock }}}}
{{{{ block content }}}}<p>{text}</p>{{{{ formfields }}}}{{{{ next_button }}}}{{{{ endblock }}}}
"""
END = """{{ block title }}The end{{ endblock }}
{{ block content }}<p>Thank you.</p>{{ endblock }}
"""
QUESTION = "What is the value of f(x) at the point where both are equal? " * 30


def write(folder: Path) -> None:
    """Write the project."""
    app = folder / CONFIG
    app.mkdir(parents=True)
    (folder / "_static").mkdir()
    (folder / "settings.py").write_text(SETTINGS, encoding="utf-8")
    (app / "__init__.py").write_text(APP, encoding="utf-8")
    for name in ("Consent", "Survey", "Confidence", "Alone", "Chat"):
        (app / f"{name}.html").write_text(PAGE.format(name=name, text=QUESTION), encoding="utf-8")
    (app / "End.html").write_text(END, encoding="utf-8")
