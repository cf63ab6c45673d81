"""What the tutor has read: the idea behind well-known results, by the words that give them away."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Topic:
    """A subject: its name, words that give it away, what it says, the idea behind it, a smallest example."""

    name: str
    words: tuple[str, ...]
    says: str
    idea: str
    example: str


TOPICS = (
    Topic(
        "Chebyshev's inequality",
        ("chebyshev", "markov", "variance", r"\sigma", r"\pr", "deviation"),
        r"a random variable is rarely many standard deviations from its mean: "
        r"\(\Pr(|X-\mu| \geq k\sigma) \leq \frac{1}{k^2}\)",
        r"apply Markov's inequality to the non-negative variable \((X-\mu)^2\), with the bound "
        r"\(k^2\sigma^2\)",
        r"\(k = 2\), where at most \(\frac{1}{4}\) of the probability lies two standard deviations out",
    ),
    Topic(
        "Euler's theorem",
        ("euler", "totient", "coprime", r"\phi"),
        r"for coprime \(a\) and \(m\) we have \(a^{\varphi(m)} \equiv 1 \pmod{m}\)",
        r"multiply all units modulo \(m\) by \(a\): this only permutes them, so their product can be "
        r"cancelled",
        r"\(a = 3\), \(m = 4\): \(\varphi(4) = 2\), and indeed \(3^2 = 9 \equiv 1 \pmod 4\)",
    ),
    Topic(
        "the Chinese remainder theorem",
        ("chinese", "congruen", "remainder", "simultaneous"),
        r"congruences to pairwise coprime moduli can all be met at once, in one way modulo their product",
        r"build one number for each modulus that is \(1\) there and \(0\) for the others, then add multiples "
        r"of them",
        r"\(x \equiv 1 \pmod 2\) and \(x \equiv 2 \pmod 3\), which \(x = 5\) meets",
    ),
    Topic(
        "convergence in probability",
        ("converge", "law of large numbers", "bernoulli", "random sample", "sample mean"),
        r"\(\Pr(|X_n - \mu| > \varepsilon) \to 0\) for every \(\varepsilon > 0\)",
        r"the variance of a mean of \(n\) independent draws is \(\frac{\sigma^2}{n}\); Chebyshev does the "
        r"rest",
        r"fair coin tosses: the share of heads among \(n\) has variance \(\frac{1}{4n}\)",
    ),
    Topic(
        "the minimal polynomial",
        ("minimal polynomial", "square matrix", "cayley-hamilton"),
        r"each square matrix satisfies some polynomial, and one monic polynomial of least degree divides all "
        r"of these",
        r"the powers \(I, A, A^2, \dots, A^{n^2}\) are too many to be independent in a space of dimension "
        r"\(n^2\)",
        r"\(A = 2I\), whose minimal polynomial is \(x - 2\)",
    ),
    Topic(
        "Cayley's theorem",
        ("cayley", "group", "subgroup", "isomorph"),
        r"each group is, up to its names, a group of permutations",
        r"let each element act on the whole group by \(x \mapsto gx\), and check that this keeps products",
        r"the group with two elements, which swaps two things",
    ),
    Topic(
        "the null space",
        ("null space", "kernel", "left null"),
        r"it holds exactly the vectors that a matrix sends to zero",
        r"show both inclusions, writing \(y^{T}A = 0\) as \(A^{T}y = 0\)",
        r"a matrix with two equal rows, where \((1, -1)\) is in the left null space",
    ),
    Topic(
        "vectors in space",
        ("cross product", "jacobi", "plane", "parallel", "vector"),
        r"lengths, angles and normals turn geometry into sums of products",
        r"expand with \(a \times (b \times c) = b(a \cdot c) - c(a \cdot b)\) and watch the terms cancel",
        r"the three unit vectors, where everything is \(0\), \(1\) or \(-1\)",
    ),
    Topic(
        "convexity",
        ("convex", "minkowski", "contractible", "l^p", "lebesgue"),
        r"the segment between two points of the set stays in the set",
        r"slide along \((1-t)x + ty\) with \(0 \leq t \leq 1\), and use that this keeps inside",
        r"an interval on the line, where the picture says it all",
    ),
    Topic(
        "roots and factors of polynomials",
        ("factor", "z^n", "polynomial", "root", "fundamental theorem"),
        r"each root \(r\) of a polynomial splits off a factor \((z - r)\)",
        r"write the roots of \(z^n = -1\) as \(e^{i\pi(2k+1)/n}\) and pair each with its conjugate",
        r"\(z^2 + 1 = (z - i)(z + i)\)",
    ),
    Topic(
        "sums and powers of whole numbers",
        ("n^3", "cubes", "nicomachus", "odd number", "sum of"),
        r"runs of consecutive odd numbers add up to squares and cubes",
        r"count the terms, and take the mean of the first and the last: a sum is count times mean",
        r"\(2^3 = 3 + 5\), two terms with mean \(4\)",
    ),
    Topic(
        "probability",
        ("probabilit", "random", "dice", "coin", "conditional"),
        r"chances are shares of all that can happen, so they lie between \(0\) and \(1\)",
        r"check the three axioms one by one: non-negative, total \(1\), additive over disjoint events",
        r"one die: \(\Pr(\text{even} \mid \text{more than } 3) = \frac{2}{3}\)",
    ),
    Topic(
        "forces and motion",
        ("force", "mass", "velocity", "acceleration", "gravity", "friction", "momentum", "energy", "physics"),
        r"what changes a motion is the net force, \(F = ma\); a steady motion needs none",
        r"draw all forces on the one body, add them, and see which quantity is conserved",
        r"a ball thrown up: at the top its speed is zero, but its acceleration is still \(g\)",
    ),
    Topic(
        "right and wrong",
        ("moral", "wrong", "ethic", "lie", "promise", "steal"),
        r"most people judge an act by its intent, by whom it harms, and by which promise it breaks",
        r"ask what an ordinary person would say who hears only these facts, without excuses added",
        r"taking a neighbour's umbrella in the rain: small, but still taken without asking",
    ),
)


def find(text: str) -> Topic | None:
    """Give the topic most of whose words begin a word of `text`, if any."""
    lower = text.lower()
    scores = [(sum(_begins(word, lower) for word in topic.words), -i) for i, topic in enumerate(TOPICS)]
    score, minus_index = max(scores)
    return TOPICS[-minus_index] if score else None


def _begins(word: str, text: str) -> bool:
    return re.search(rf"(?<![a-z]){re.escape(word)}", text) is not None
