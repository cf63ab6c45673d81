"""ChatBench's prompts, word for word: models alone, the extractor, simulated users and annotators.

Source: the authors' code, github.com/serinachang5/interactive-eval at commit 6f2abaf, in the functions that are named
below. Chang, Anderson, Hofman: ChatBench (ACL 2025, CC BY 4.0) describes them in appendix B. The code has no licence
file; the texts are quoted as the instruments of the study, so that results can be compared with it.

They are the defaults of a study's keys, as templates: `{{question}}` is the question with its lettered options, one
to a line. Prompts that the published code does not contain are Parley's and are found where they are used.
"""

from __future__ import annotations

from collections.abc import Iterable

# `SEP` in constants_and_utils.py.
RULE = "=" * 24
# The system prompt of `letter_only` and `copy_and_paste`.
ASSISTANT = "You are a helpful AI assistant."
# The system prompt of the extractor and the annotators.
HELPER = "You are a helpful assistant."

# Models alone: qa_reasoning.py

# `letter_only` without examples.
LETTER_ONLY = "Answer with only a single letter.\n\nQuestion: {{question}}\nAnswer:"
# `letter_only` with examples, each `Question: ...` and `Answer: X`, with a blank line after it.
FEW_SHOT = (
    "Answer with only a single letter.\n\n"
    "The following are multiple choice questions (with answers) about {{subject}}.\n\n"
    "{{examples}}\n\nQuestion: {{question}}\nAnswer:"
)
# `copy_and_paste`.
FREE_TEXT = "{{question}}"
ATTEMPTED = (
    'Respond with a JSON object that contains one key "attempted_answer" with a value that is true or false. If '
    '"attempted_answer" is true, then include a second key "answer_val" with the final answer\'s value in quotations. '
)
# `extract_answer_from_response`.
EXTRACTION = (
    f"Here is a question that someone was asked:\n\n{RULE}\n{{{{question}}}}\n{RULE}\n\n"
    f"Here is a response:\n\n{RULE}\n{{{{reply}}}}\n{RULE}\n\n"
    f"Did the response provide a final answer to the question? {ATTEMPTED}"
    'If the final answer value matches one of the answer options, include a third key "answer_letter" with a value '
    "that is one of the letters {{letters}}."
)

# Simulated users: generate_conversations.py

# The system prompt of `two_step_simulator`.
TWO_STEP = (
    "You are a human user interacting with an AI system, and you are trying to answer the following question:\n\n"
    "{{question}}"
)
FIRST = (
    "Generate the first prompt you would say to the system to get started with answering your question. Remember to "
    "write exactly as a real user would."
)
# The variant `problem`.
FIRST_WITH_PROBLEM = (
    "Generate the first prompt you would say to the system to get started with answering your question. Include the "
    "problem statement in some form, and remember to write exactly as a real user would."
)
# The first message of the variant `help`, which asks no model.
HELP = "I'm trying to solve a math problem. Can you help me get started on the first step?"
TALK = f"Here is your conversation so far with the AI system:\n{RULE}\n{{{{conversation}}}}\n{RULE}\n"
# `{{choices}}` is `A, B, C, or D`.
NEXT = TALK + (
    'If your question is answered by this conversation, return ONLY the answer in the format "Answer: {{choices}}". If '
    "not, generate the next prompt you would say to the system to answer your question. Remember to keep your writing "
    "style consistent."
)
# With `require_answer`.
LAST = TALK + (
    'Answer the question based on this conversation. Return ONLY the answer in the format "Answer: {{choices}}".'
)
# `iqa_eval_simulator`, after Li et al.: IQA-EVAL (NeurIPS 2024). The conversation follows after a blank line.
IQA_EVAL = (
    "You are mimicking a human. You are trying to choose the correct answer to the given question. Please ask an "
    "assistant sub-questions for help approaching answers. In each turn, please only ask one sub-question to interact "
    "with an assistant. In the sub-questions, please include all necessary information, such as the question and "
    'options, in the original question. If you know the answer, please output "So, the answer is: {{choices}}."\n\n'
    "{{question}}"
)
# `iqa_eval_simulator` with `require_answer`.
IQA_EVAL_LAST = (
    "You are mimicking a human. You are trying to choose the correct answer to the given question. Please choose the "
    'correct answer to the given question. Please output "So, the answer is: {{choices}}."\n\n{{question}}'
)

# Annotators: analyze_results.py. `{{transcript}}` has a line for each message: `Person: ...` or `System: ...`.

ASKED = "Here is a question that someone was asked:\n\n{{question}}\n\n"
ABOUT_IT = "Here is a conversation that the person had with an AI system about the question:\n{{transcript}}\n\n"
# `extract_answer_from_conversation`.
CHATBOT_ANSWER = (
    f"{ASKED}{ABOUT_IT}Does this conversation provide a final answer to the question? {ATTEMPTED}"
    'If the final answer value matches one of the answer options, include a third key "answer_letter" which is the '
    "letter corresponding to the matching answer option."
)
# The wording of the dataset card (microsoft/ChatBench, annotation `user_effort`). The reply is a word, not JSON.
CLASSIFY = (
    "Classify this conversation. If the person already knew the answer so they didn't need AI's help, "
    'respond with "known". If the person tried to use AI to help them answer the question, respond with "tried". If '
    'the person did not put in effort to answer the question, respond with "low effort".'
)
# The card says that the question, its options and the whole conversation were shown, and not how they were introduced:
# that is as in the authors' other prompts.
EFFORT = f"{ASKED}{ABOUT_IT}{CLASSIFY}"
DID_CORRECT = (
    "Does the user correct the AI system at any point in this conversation? Respond with a JSON object that contains "
    'one key "corrected" with a value that is true or false. If "corrected" is true, then include a second key '
    '"corrections" which is a list of the user\'s corrections, with exact quotes of the user.'
)
# `classify_if_user_corrected_model`.
CORRECTED = f"{ASKED}{ABOUT_IT}{DID_CORRECT}"
ABOUT_NOTHING = "Here is a conversation that a person had with an AI system:\n{{transcript}}\n\n"
CORRECTED_WITHOUT_QUESTION = f"{ABOUT_NOTHING}{DID_CORRECT}"
# Likewise for a conversation about no question, which ChatBench does not have.
EFFORT_WITHOUT_QUESTION = f"{ABOUT_NOTHING}{CLASSIFY}"


def quoted_letters(letters: Iterable[str]) -> str:
    """`"A", "B", "C", or "D"`, as `{{letters}}`."""
    *some, last = (f'"{letter}"' for letter in letters)
    return ", ".join(some) + ", or " + last


def choices(keys: Iterable[str]) -> str:
    """`A, B, C, or D`, as `{{choices}}`."""
    *some, last = keys
    return ", ".join([*some, f"or {last}" if some else last])
