"""Tables of a document → LaTeX (booktabs), to go into a paper as they are."""

from __future__ import annotations

import re

from parlai_humaneval.report.cells import laid_out
from parlai_humaneval.report.views import DataTable

LONG = 40
"""Tables with more rows break over pages."""

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "–": "--",
    "—": "---",
    "“": "``",
    "”": "''",
    "‘": "`",
    "’": "'",
    "…": r"\ldots{}",
    "\u00a0": "~",
    "−": "$-$",
    "×": r"$\times$",
    "±": r"$\pm$",
    "·": r"$\cdot$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≠": r"$\neq$",
    "≈": r"$\approx$",
    "∞": r"$\infty$",
    "→": r"$\rightarrow$",
    "√": r"$\surd$",
    "½": r"$\frac{1}{2}$",
    "²": r"\textsuperscript{2}",
    "³": r"\textsuperscript{3}",
    "₀": r"\textsubscript{0}",
    "₁": r"\textsubscript{1}",
    "₂": r"\textsubscript{2}",
}
_GREEK = {
    "α": "alpha",
    "β": "beta",
    "γ": "gamma",
    "δ": "delta",
    "ε": "varepsilon",
    "ζ": "zeta",
    "η": "eta",
    "θ": "theta",
    "κ": "kappa",
    "λ": "lambda",
    "μ": "mu",
    "ν": "nu",
    "ξ": "xi",
    "π": "pi",
    "ρ": "rho",
    "σ": "sigma",
    "τ": "tau",
    "φ": "varphi",
    "χ": "chi",
    "ψ": "psi",
    "ω": "omega",
    "Δ": "Delta",
    "Σ": "Sigma",
    "Φ": "Phi",
    "Ψ": "Psi",
    "Ω": "Omega",
    "Λ": "Lambda",
    "Γ": "Gamma",
    "Θ": "Theta",
}
_SPECIAL |= {letter: f"$\\{name}$" for letter, name in _GREEK.items()}
_ESCAPED = re.compile("[" + re.escape("".join(_SPECIAL)) + "]")
_BREAKS = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]+")


def escaped(text: str) -> str:
    """``text`` as LaTeX that prints it: nothing in it is a command, and it stays on one line."""
    return _ESCAPED.sub(lambda found: _SPECIAL[found.group()], _BREAKS.sub(" ", text))


def to_latex(table: DataTable, note: str = "") -> str:
    """A floating table, or a longtable where it has more than :data:`LONG` rows; numbers stand on the right.

    ``note``: what stands in the first line and in the caption: that raters were simulated.
    """
    layout = laid_out(table)
    columns = layout.columns
    spec = "".join("l" if column.is_text else "r" for column in columns)
    header = _row([column.label for column in columns])
    body: list[str] = []
    for group, rows in layout.groups.items():
        if group and not layout.only_group:
            body.append(f"\\multicolumn{{{len(columns)}}}{{@{{}}l}}{{\\emph{{{escaped(group)}}}}} \\\\")
        body += [_row(cells) for cells in rows]
    long = len(body) > LONG
    caption = f"\\caption{{{escaped(_caption(table, layout.only_group, note))}}}\\label{{tab:{_label(table.key)}}}"
    if long:
        begin = [f"\\begin{{longtable}}{{@{{}}{spec}@{{}}}}", f"{caption} \\\\"]
        ends = ["\\endhead", "\\bottomrule", "\\end{longtable}"]
        lines = [*begin, "\\toprule", header, "\\midrule", ends[0], *body, *ends[1:]]
    else:
        begin = ["\\begin{table}", "\\centering", caption, f"\\begin{{tabular}}{{@{{}}{spec}@{{}}}}"]
        lines = [*begin, "\\toprule", header, "\\midrule", *body, "\\bottomrule", "\\end{tabular}", "\\end{table}"]
    text = "\n".join(lines) + "\n"
    comments = [*([_BREAKS.sub(" ", note)] if note else []), *_needs(text, long)]
    return "".join(f"% {line}\n" for line in comments) + text


def _row(cells: list[str]) -> str:
    # An empty group before a bracket: \\[ would be read as a distance.
    return " & ".join(f"{{}}{cell}" if cell.startswith("[") else cell for cell in map(escaped, cells)) + " \\\\"


def _caption(table: DataTable, group: str, note: str) -> str:
    ends = tuple(".!?:")
    parts = [f"{table.title} ({group})" if group else table.title, *([note] if note else []), *table.notes]
    return " ".join(part if part.endswith(ends) else f"{part}." for part in parts)


def _label(key: str) -> str:
    return re.sub(r"[^A-Za-z0-9:-]+", "-", key)


def _needs(text: str, long: bool) -> list[str]:
    packages = ["booktabs", *(["longtable"] if long else [])]
    needs = [f"Needs {' and '.join(f'package {name}' for name in packages)}."]
    if any(ord(letter) > 0x17F for letter in text):
        needs.append("Holds letters beyond Latin ones: compile with XeLaTeX or LuaLaTeX and a font that has them.")
    return needs
