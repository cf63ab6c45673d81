"""Study files: loading, drafts, outlines, translations."""
