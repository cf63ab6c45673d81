"""What people see in a browser: participants' page and researchers' console. The only package that imports gradio.

The participants' page is one gr.Blocks of few components, built empty. `paint` turns a Screen into their updates,
static/page.js fetches them from the participant API and hands them over; Gradio runs no event on the server.
"""

import os

# Gradio reads these once, when it is imported, so they must be set before any module of this package imports it.
# They are Gradio's switches, not settings of Parley: no calls home, and no summary of past events at every event.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # noqa: TID251
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", "1000000000")  # noqa: TID251
os.environ.setdefault("GRADIO_ANALYTICS_MAX_EVENTS", "1")  # noqa: TID251
os.environ.setdefault("HF_HUB_OFFLINE", "1")  # noqa: TID251
