"""What people see in a browser: participants' page and researchers' console. The only package that imports gradio.

The participants' page is one gr.Blocks of few components, built empty. `paint` turns a Screen into their updates,
static/page.js fetches them from the participant API and hands them over; Gradio runs no event on the server.
"""
