"""Distribution of parlai-humaneval (build and tool settings: pyproject.toml).

Ranges stand here; the exact versions that were tested together stand in
``constraints.txt``, with the reason for each pin that the ecosystem forces.
"""

from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
PATH_FILE = "parlai_humaneval.pth"
AT_START = 'import sys; exec("try:\\n import parlai_humaneval_hook\\nexcept ImportError:\\n pass")\n'
"""What Python does at its start, so that ParlAI finds this package whoever imports it. A lost package stops nothing."""
PACKAGES = find_packages(include=["parlai_humaneval*", "mephisto_tasks*"])


class BuildWithPathFile(build_py):
    """Puts the path file beside the packages: in a wheel, and in what an editable install copies."""

    def run(self) -> None:
        super().run()
        top = Path(self.get_finalized_command("install").install_lib if self.editable_mode else self.build_lib)
        top.mkdir(parents=True, exist_ok=True)
        (top / PATH_FILE).write_text(AT_START, encoding="utf-8")


setup(
    cmdclass={"build_py": BuildWithPathFile},
    name="parlai-humaneval",
    version="0.1.0",
    description="Human evaluation of dialogue models: ParlAI agents, Mephisto crowd tasks, honest statistics.",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="MIT",
    license_files=["LICENSE"],
    python_requires=">=3.10,<3.12",
    # zoo_configs/ stands at the top of the repository, where people look for it,
    # and travels in wheels as parlai_humaneval/zoo_configs.
    packages=[*PACKAGES, "parlai_humaneval.zoo_configs"],
    py_modules=["parlai_humaneval_hook"],
    package_dir={"parlai_humaneval.zoo_configs": "zoo_configs"},
    package_data={
        "": ["py.typed", "*.pyi"],
        "parlai_humaneval": [
            "self_chat/multirun/conf/*.yaml",
            "data/**/*",
            "judges/*.txt",
            "languages/*.po",
            "opt_presets/**/*",
            "report/**/templates/*",
            "report/*.bib",
        ],
        "parlai_humaneval.zoo_configs": ["*.yaml"],
        "mephisto_tasks": [
            "PROTOCOL.md",
            "router/static/*",
            "watching/page/static/*",
            "watching/page/templates/*",
            "crowds/link/panels/*.yaml",
            "**/hydra_configs/**/*.yaml",
            "**/task_config/*",
            "webapp/dist/**/*",
        ],
    },
    install_requires=[
        "parlai>=1.7.2,<1.8",
        "mephisto>=1.1.1,<1.2",
        "torch>=2.0",
        "accelerate>=0.25,<0.31",  # loads large models without twice their memory; newer ones want a newer huggingface-hub
        "setuptools<81",
        "pyarrow<17",
        "numpy>=1.23,<2",
        "pandas>=2.0,<3",
        "scipy>=1.10",
        "statsmodels>=0.14",
        "scikit-learn>=1.3",
        "matplotlib>=3.7",
        "jinja2>=2.11",
        "nltk>=3.8",
        "pydantic>=2.6,<3",
        "babel>=2.10",  # raters' languages: gettext's catalogues, which way they are written, how they write dates
        "pyobscenity>=0.2,<0.3",
        "openai>=1.30",  # the client of every OpenAI-compatible server
        "httpx>=0.27,<1",
        "emoji>=2",
        "regex>=2022.1",  # graphemes (\\X), which re does not know
        "markdown-it-py>=2.2",
        "aiohttp>=3.9,<4",
        "click>=7.1,<8",
        "rich>=12,<13",
        "PyYAML>=5.4",
        "pycountry>=22",  # ISO codes of countries and of their parts
        "packaging>=21",
        "psutil>=5.9",
        "hydra-core>=1.3,<1.4",
        "itsdangerous>=1.1",  # signs invitations
        "segno>=1.6,<2",  # QR codes of links
        "phonenumbers>=8.13,<10",  # telephone numbers in what raters wrote, before it is released
    ],
    extras_require={
        # Models on a Ray cluster that runs already. From 2.50 on, a cluster can let in only who has its token.
        "ray": ["ray>=2.50,<3"],
        "slurm": ["hydra-submitit-launcher>=1.2,<1.3"],
        "dev": [
            "pytest>=8",
            "pytest-xdist>=3",
            "pytest-asyncio>=1",
            "pytest-playwright>=0.7",
            "playwright>=1.50",
            "hypothesis>=6",
            "filelock>=3",
            "mypy>=1.10",
            "ruff>=0.6",
            "build>=1",
            "hydra-submitit-launcher>=1.2,<1.3",
            "import-linter>=2.5",  # what may import what; its grimp finds circles in a test
            # What statistics are compared with.
            "lifelines>=0.28",
            "choix>=0.4",
            "krippendorff>=0.7",
            "trueskill>=0.4.5",
            "ray>=2.50,<3",
            "pytorch-pretrained-bert>=0.6.2,<0.7",  # ParlAI's bert_ranker, whose training commands are tested
            "pandas-stubs",
            "types-PyYAML",
            "types-psutil",
            "types-click>=7,<8",
        ],
    },
    entry_points={"console_scripts": ["parlai-humaneval=parlai_humaneval.cli:main"]},
    classifiers=[
        "License :: OSI Approved :: MIT License",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Typing :: Typed",
    ],
)
