"""The files that describe an export, made of the exported data alone: identical data give identical files."""
