"""The web interfaces: the participants' page and the researchers' console. The only package that imports gradio.

The participants' page is one gr.Blocks with few components, built empty. `ScreenView.paint` turns a Screen into their
updates; static/page.js fetches these from the participant API and passes them to Gradio. Gradio runs no event on the
server.
"""
