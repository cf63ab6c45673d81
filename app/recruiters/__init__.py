"""Recruiters with an API, one file each; `base` has what use cases need of one."""
