"""Parts that a process of Parley's makes once, made before it is forked: the participants' page and all plugins.

It is imported by the process that others are forked from, and took most of their start.
"""

from app.studies.loader import load_study
from app.web.participant import page

page.routes()
load_study("demo")
