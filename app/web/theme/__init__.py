"""Parley's theme for Gradio's own components. All other styles are in static/page.css, with the same colours."""

import gradio as gr

SANS = (
    "system-ui",
    "-apple-system",
    "Segoe UI",
    "Roboto",
    "Noto Sans",
    "Helvetica Neue",
    "Arial",
    "sans-serif",
)
MONO = ("ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "Liberation Mono", "monospace")


def theme() -> gr.themes.Base:
    """System fonts only, so that none is loaded from another host; colours are the variables of page.css."""
    base = gr.themes.Base(font=SANS, font_mono=MONO, radius_size="lg", text_size="md")
    return base.set(
        body_background_fill="var(--paper)",
        body_background_fill_dark="var(--paper)",
        body_text_color="var(--ink)",
        body_text_color_dark="var(--ink)",
        block_background_fill="transparent",
        block_background_fill_dark="transparent",
        block_border_width="0px",
        block_shadow="none",
        input_background_fill="var(--card)",
        input_background_fill_dark="var(--card)",
        input_border_color="var(--edge)",
        input_border_color_dark="var(--edge)",
        color_accent="var(--accent)",
        button_primary_background_fill="var(--accent)",
        button_primary_background_fill_dark="var(--accent)",
        button_primary_text_color="var(--on-accent)",
        button_primary_text_color_dark="var(--on-accent)",
    )
