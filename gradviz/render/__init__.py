"""Views of a snapshot that need no kernel: text, page, picture, DOT.

Each module has one function, named after what it returns, and is imported on its own:
``gradviz.render.html.to_html``.
"""
