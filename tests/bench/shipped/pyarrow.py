"""On the path of the servers that are loaded, which are to be as they are installed: only developers have pyarrow, with
which pandas, which Gradio imports, takes 33 MB more."""

raise ImportError("pyarrow is not among what Parley runs on")
