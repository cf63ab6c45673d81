"""Analysis: the figures of the three papers, of arenas and of reliance, and the report."""

from app.extension import Extension, register

register(Extension("analysis", hooks={"annotator_agreement": "app.analysis.annotator_agreement:agreement_of"}))
