"""What `parley doctor` looks at: everything around Parley that can be wrong on a machine, a file for each part.

A check gives Findings. It changes nothing, sends no message to a model and costs nothing.
"""
