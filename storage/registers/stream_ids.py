"""The ids of the streams that no session has: a study's own, and those of imported persons."""

from uuid import UUID, uuid5

NAMESPACE = UUID("6a1c4f3e-6f0e-5b7e-9a55-1f0a6d2c9b11")


def study_stream(study: str) -> str:
    return str(uuid5(NAMESPACE, f"study\n{study}"))


def person_stream(schema: str, study: str, person: str) -> str:
    return str(uuid5(NAMESPACE, f"{schema}\n{study}\n{person}"))


def recruiter_stream(recruiter: str) -> str:
    return str(uuid5(NAMESPACE, f"recruiter\n{recruiter}"))
