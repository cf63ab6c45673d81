"""The participants' page: start page, API, templates."""
