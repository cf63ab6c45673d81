"""Read models of sessions: transcripts, answers, funnel, bonus."""
