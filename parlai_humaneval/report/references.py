"""Whole references of what sources name by author and year."""

from __future__ import annotations

import re
from collections.abc import Iterable

_REFERENCES: dict[tuple[str, str], str] = {
    ("Bloom", "1995"): "H. S. Bloom. Minimum Detectable Effects: A Simple Way to Report the Statistical Power of "
    "Experimental Designs. Evaluation Review 19(5), 1995.",
    ("Bojar", "2013"): "O. Bojar, C. Buck, C. Callison-Burch, C. Federmann, B. Haddow, P. Koehn, C. Monz, M. Post, "
    "R. Soricut, L. Specia. Findings of the 2013 Workshop on Statistical Machine Translation. WMT 2013.",
    (
        "Bradley",
        "1952",
    ): "R. A. Bradley, M. E. Terry. Rank Analysis of Incomplete Block Designs: I. The Method of Paired "
    "Comparisons. Biometrika 39(3/4), 1952.",
    ("Cameron", "2008"): "A. C. Cameron, J. B. Gelbach, D. L. Miller. Bootstrap-Based Improvements for Inference with "
    "Clustered Errors. Review of Economics and Statistics 90(3), 2008.",
    (
        "Cameron",
        "2011",
    ): "A. C. Cameron, J. B. Gelbach, D. L. Miller. Robust Inference With Multiway Clustering. Journal "
    "of Business & Economic Statistics 29(2), 2011.",
    ("Chamberlain", "1980"): "G. Chamberlain. Analysis of Covariance with Qualitative Data. Review of Economic Studies "
    "47(1), 1980.",
    ("Cohen", "1960"): "J. Cohen. A Coefficient of Agreement for Nominal Scales. Educational and Psychological "
    "Measurement 20(1), 1960.",
    (
        "Connor",
        "1987",
    ): "R. J. Connor. Sample Size for Testing Differences in Proportions for the Paired-Sample Design. "
    "Biometrics 43(1), 1987.",
    ("Cox", "1972"): "D. R. Cox. Regression Models and Life-Tables. Journal of the Royal Statistical Society, Series B "
    "34(2), 1972.",
    ("Donner", "1980"): "A. Donner, J. J. Koval. The Estimation of Intraclass Correlation in the Analysis of Family "
    "Data. Biometrics 36(1), 1980.",
    ("Fleiss", "1971"): "J. L. Fleiss. Measuring Nominal Scale Agreement Among Many Raters. Psychological Bulletin "
    "76(5), 1971.",
    ("Kish", "1965"): "L. Kish. Survey Sampling. Wiley, 1965.",
    ("Krippendorff", "2004"): "K. Krippendorff. Content Analysis: An Introduction to Its Methodology, second edition. "
    "Sage, 2004.",
    ("Luce", "1959"): "R. D. Luce. Individual Choice Behavior: A Theoretical Analysis. Wiley, 1959.",
    ("McFadden", "1974"): "D. McFadden. Conditional Logit Analysis of Qualitative Choice Behavior. In: Frontiers in "
    "Econometrics, Academic Press, 1974.",
    ("Ridout", "1999"): "M. S. Ridout, C. G. B. Demétrio, D. Firth. Estimating Intraclass Correlation for Binary Data. "
    "Biometrics 55(1), 1999.",
    ("Sun", "1996"): "J. Sun. A Non-Parametric Test for Interval-Censored Failure Time Data with Application to AIDS "
    "Studies. Statistics in Medicine 15(13), 1996.",
    ("Turnbull", "1974"): "B. W. Turnbull. Nonparametric Estimation of a Survivorship Function with Doubly Censored "
    "Data. Journal of the American Statistical Association 69(345), 1974.",
    ("Canay", "2017"): "I. A. Canay, J. P. Romano, A. M. Shaikh. Randomization Tests under an Approximate Symmetry "
    "Assumption. Econometrica 85(3), 2017.",
    ("Cameron", "2015"): "A. C. Cameron, D. L. Miller. A Practitioner's Guide to Cluster-Robust Inference. Journal of "
    "Human Resources 50(2), 2015.",
    ("Cochran", "1950"): "W. G. Cochran. The Comparison of Percentages in Matched Samples. Biometrika 37, 1950.",
    ("Deriu", "2020"): "J. Deriu, D. Tuggener, P. von Däniken, J. A. Campos, A. Rodrigo, T. Belkacem, A. Soroa, "
    "E. Agirre, M. Cieliebak. Spot The Bot: A Robust and Efficient Framework for the Evaluation of Conversational "
    "Dialogue Systems. EMNLP 2020.",
    ("Finkelstein", "1986"): "D. M. Finkelstein. A Proportional Hazards Model for Interval-Censored Failure Time Data. "
    "Biometrics 42(4), 1986.",
    ("Herbrich", "2006"): "R. Herbrich, T. Minka, T. Graepel. TrueSkill: A Bayesian Skill Rating System. NIPS 2006.",
    ("Holm", "1979"): "S. Holm. A Simple Sequentially Rejective Multiple Test Procedure. Scandinavian Journal of "
    "Statistics 6(2), 1979.",
    ("Ji", "2022"): "T. Ji, Y. Graham, G. Jones, C. Lyu, Q. Liu. Achieving Reliable Human Assessment of Open-Domain "
    "Dialogue Systems. ACL 2022.",
    (
        "Liu",
        "2023",
    ): "S. Liu, P. Lange, B. Hedayatnia, A. Papangelis, D. Jin, A. Wirth, Y. Liu, D. Hakkani-Tur. Towards "
    "Credible Human Evaluation of Open-Domain Dialog Systems Using Interactive Setup. AAAI 2023.",
    ("Ma", "2023"): "Z. Ma, Z. Yao, J. Zhang, J. Yu, X. Zhang, J. Li, J. Tang. FFAEval: Evaluating Dialogue System via "
    "Free-For-All Ranking. Findings of EMNLP 2023.",
    ("McNemar", "1947"): "Q. McNemar. Note on the Sampling Error of the Difference Between Correlated Proportions or "
    "Percentages. Psychometrika 12(2), 1947.",
    ("Plackett", "1975"): "R. L. Plackett. The Analysis of Permutations. Applied Statistics 24(2), 1975.",
    ("Rao", "1967"): "P. V. Rao, L. L. Kupper. Ties in Paired-Comparison Experiments: A Generalization of the "
    "Bradley-Terry Model. Journal of the American Statistical Association 62(317), 1967.",
    ("Smith", "2022"): "E. M. Smith, O. Hsu, R. Qian, S. Roller, Y.-L. Boureau, J. Weston. Human Evaluation of "
    "Conversations is an Open Problem: comparing the sensitivity of various methods for evaluating dialogue agents. "
    "Workshop on NLP for Conversational AI, 2022.",
    (
        "Wilson",
        "1927",
    ): "E. B. Wilson. Probable Inference, the Law of Succession, and Statistical Inference. Journal of "
    "the American Statistical Association 22(158), 1927.",
    ("Zhao", "2004"): "Q. Zhao, J. Sun. Generalized Log-Rank Test for Mixed Interval-Censored Failure Time Data. "
    "Statistics in Medicine 23(10), 2004.",
}


def references_in(texts: Iterable[str]) -> list[str]:
    """References that ``texts`` name, as “Smith et al. 2022, §4.1” or “Zhao–Sun (2004)” do; sorted."""
    whole = "\n".join(texts)
    return sorted(text for (name, year), text in _REFERENCES.items() if _named(whole, name, year))


def _named(text: str, name: str, year: str) -> bool:
    # The year follows the first author, and no other year or reference stands between. “Zhao & Sun 2004” is not Sun's.
    return re.search(rf"(?<!& )(?<!–)\b{name}\b[^\d;\n]{{0,60}}\(?{year}\b", text) is not None
