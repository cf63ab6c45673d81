"""The presentation of ChatBench's findings. Datasets and models are in the order of the paper's Tables A1 and A2."""

from app.analysis.outline import Contrast, Figure, Line, Outline, OutlineTopic, one

OUTLINE = Outline(
    contrasts=(
        Contrast(
            "Models alone against people with them",
            (
                (
                    Line("chatbench.mean_gap.letter_only_few_shot.all"),
                    Line("chatbench.mean_gap.free_text.all"),
                ),
                (Line("chatbench.mean_gap.<method>.all"),),
                (Line("chatbench.mean_gap.<method>.<condition>"),),
            ),
        ),
        Contrast(
            "Gap between the models",
            (
                (
                    Line("chatbench.model_gap.<model>.<other>.free_text"),
                    Line("chatbench.model_gap.<model>.<other>.user-AI.<condition>"),
                ),
                (Line("chatbench.accuracy_by_model.<model>"),),
            ),
        ),
        Contrast(
            "What the chatbot changed",
            (
                (
                    Line("chatbench.transition.corrected.all_models"),
                    Line("chatbench.transition.lost.all_models"),
                ),
                (Line("chatbench.change.<model>"),),
                (Line("chatbench.accuracy_by_condition.<condition>.<moment>"),),
            ),
        ),
        Contrast(
            "Do benchmarks predict how people do?",
            (
                (Line("chatbench.correlation.free_text.<condition>"),),
                (Line("chatbench.correlation.<method>.<condition>"),),
            ),
        ),
    ),
    topics=(
        OutlineTopic(
            "Models alone, people alone, and people with models",
            (
                one("chatbench.mean_gap"),
                one("chatbench.model_gap"),
                one("chatbench.accuracy", folded=True),
                one("chatbench.gap", folded=True),
            ),
        ),
        OutlineTopic(
            "Question by question",
            (
                one("chatbench.above_model"),
                Figure(
                    {
                        "chatbench.correlation": "accuracy",
                        "chatbench.correlation_improvement": "improvement",
                        "chatbench.linear_fit": "linear model",
                    },
                    "Correlations over questions: models alone, and people with them",
                ),
                one("chatbench.noise_ceiling", folded=True),
            ),
        ),
        OutlineTopic(
            "What the chatbot changed",
            (
                one("chatbench.accuracy_by_condition"),
                one("chatbench.accuracy_by_model"),
                one("chatbench.change"),
                one("chatbench.transition"),
                one("chatbench.reliance"),
                one("chatbench.complementary"),
                one("chatbench.odds", folded=True),
            ),
        ),
        OutlineTopic(
            "Answers, work and times",
            (
                one("chatbench.filter", folded=True),
                one("chatbench.count", folded=True),
                one("chatbench.work.shares", folded=True),
                one("chatbench.work.numbers", folded=True),
                one("chatbench.duration", folded=True),
            ),
        ),
    ),
    order={
        "dataset": (
            "elementary_mathematics",
            "high_school_mathematics",
            "college_mathematics",
            "conceptual_physics",
            "moral_scenarios",
            "moral_reasoning",
        ),
        "model": ("gpt-4o", "gpt-4o-mini", "llama-3.1-8b"),
        "condition": ("answer-first", "direct-to-AI"),
        "answer_type": (
            "letter_only_zero_shot",
            "letter_only_few_shot",
            "free_text",
            "user-alone",
            "user-AI",
            "user-AI.answer-first",
            "user-AI.direct-to-AI",
        ),
    },
)
