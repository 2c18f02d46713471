"""Distribution of parlai-humaneval (build and tool settings: pyproject.toml).

Ranges stand here. ``make lock`` finds the exact versions that are tested together, and writes them
to ``requirements/lock.txt``; the reasons for pins stand beside it.
"""

import re
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
SOURCE = (HERE / "parlai_humaneval" / "_util" / "__init__.py").read_text(encoding="utf-8")
VERSION = re.findall(r'^__version__ = "(.+)"$', SOURCE, re.MULTILINE)[0]
PATH_FILE = "parlai_humaneval.pth"
AT_START = 'import sys; exec("try:\\n import parlai_humaneval_hook\\nexcept ImportError:\\n pass")\n'
"""What Python does at its start, so that ParlAI finds this package whoever imports it. A lost package stops nothing."""
PACKAGES = find_packages(include=["parlai_humaneval*", "mephisto_tasks*"])

TEST = [
    "pytest>=8",
    "pytest-xdist>=3",
    "pytest-asyncio>=1",
    "hypothesis>=6",
    "filelock>=3",
    # What statistics are compared with.
    "statsmodels>=0.14",
    "lifelines>=0.28",
    "choix>=0.4",
    "krippendorff>=0.7",
    "trueskill>=0.4.5",
    "harper-py>=0.2,<0.3",  # the grammar checker of `make lint`
]


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
    version=VERSION,
    description="Human evaluation of dialogue models: ParlAI agents, Mephisto crowd tasks, honest statistics.",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="MIT",
    license_files=["LICENSE"],
    python_requires=">=3.10,<3.15",
    # zoo_configs/ stands at the top of the repository, where people look for it,
    # and travels in wheels as parlai_humaneval/zoo_configs.
    packages=[*PACKAGES, "parlai_humaneval.zoo_configs"],
    py_modules=["parlai_humaneval_hook"],
    package_dir={"parlai_humaneval.zoo_configs": "zoo_configs"},
    package_data={
        "": ["py.typed", "*.pyi"],
        "parlai_humaneval": [
            "_util/renamed.txt",
            "*/*.yaml",
            "analysis/former_names.json",
            "cli/conf/*.yaml",
            "data/**/*",
            "allocation/*.yaml",
            "importers/*.yaml",
            "judges/*.txt",
            "i18n/*.po",
            "opt_presets/**/*",
            "report/**/templates/*",
            "report/render/*.bib",
            "report/render/*.yaml",
            "viewer/index.html",
            "viewer/static/*",
        ],
        "parlai_humaneval.zoo_configs": ["*.yaml"],
        "mephisto_tasks": [
            "PROTOCOL.md",
            "**/*.sql",
            "**/phrases.yaml",
            "**/problems.yaml",
            "**/words.yaml",
            "cli/*.yaml",
            "server/static/*",
            "monitoring/static/*",
            "monitoring/templates/*",
            "privacy/columns.yaml",
            "privacy/templates/*",
            "crowds/*/*.yaml",
            "launch/*.yaml",
            "session/*.yaml",
            "simulation/sentences.yaml",
            "crowds/*/*.js",
            "crowds/*/confs/**/*.yaml",
            "**/hydra_configs/**/*.yaml",
            "**/task_config/*",
            "webapp/dist/**/*",
            "webapp/new_dist/**/*",
        ],
    },
    # ParlAI and Mephisto are not among these: their metadata pin libraries of 2022, which no pip can build on a Python of
    # today. `parlai-humaneval setup` installs the two without what they ask for; what of it they import stands here.
    install_requires=[
        "numpy>=1.23,<3",
        "pandas>=2.0,<4",
        "scipy>=1.10",
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
        "pillow>=10.1",  # pictures are decoded and encoded again; matplotlib brings it in any case
        "aiohttp>=3.9,<4",
        "click>=7.1,<9",
        "rich>=12,<16",
        "PyYAML>=5.4",
        "pycountry>=22",  # ISO codes of countries and of their parts
        "packaging>=21",
        "psutil>=5.9",
        "hydra-core>=1.3,<1.4",
        "itsdangerous>=1.1",  # signs invitations
        "segno>=1.6,<2",  # QR codes of links
        "phonenumbers>=8.13,<10",  # telephone numbers in what raters wrote, before it is released
        # Imported by ParlAI 1.7.2 and Mephisto 1.1.1, whoever runs them.
        "setuptools<81",  # pkg_resources, which newer ones lack, and distutils, which Python lacks from 3.12 on
        "attrs>=20.2",
        "boto3>=1.17",
        "iopath>=0.1.8,<0.2",
        "prometheus-client>=0.13",
        "requests>=2.22",
        "sh>=1.12",
        "tornado>=6",
        "tqdm>=4.62",
        "websockets>=10.1",
        "xmltodict>=0.12",
    ],
    extras_require={
        # Models whose weights this machine holds: ParlAI's, and those of Hugging Face.
        "local": [
            "torch>=2.0",
            "transformers>=4.35",
            "accelerate>=0.25",  # loads large models without twice their memory
            "contractions>=0.1.72",  # the agent of BlenderBot 3
        ],
        # Models on a Ray cluster that runs already. From 2.50 on, a cluster can let in only who has its token.
        "ray": ["ray>=2.50,<3"],
        "formats": ["openpyxl>=3.1", "pyarrow>=14"],  # tables as Excel and Parquet
        "slurm": ["hydra-submitit-launcher>=1.2,<1.3"],
        "test": TEST,
        "dev": [
            *TEST,
            "pytest-playwright>=0.7",
            "playwright>=1.50",
            "mypy>=1.10",
            "ruff>=0.6",
            "build>=1",
            "import-linter>=2.5",  # what may import what; its grimp finds circles in a test
            "pandas-stubs",
            "types-PyYAML",
            "types-psutil",
            "hydra-submitit-launcher>=1.2,<1.3",
            "ray>=2.50,<3",
            "transformers[serving]>=5",  # a real OpenAI-compatible server, which tests ask
            "pytest-regressions>=2",  # ParlAI's own test worlds, by which samples of its formats are made
            "pytorch-pretrained-bert>=0.6.2,<0.7",  # ParlAI's bert_ranker, whose training commands are tested
            # The site of documentation. Scripts, styles and search stand in the wheels: a built site asks no other server.
            "mkdocs>=1.6,<2",  # the line whose plug-ins and strict checks of links and anchors mkdocs-material builds on
            "mkdocs-material>=9.7",
            "latex2mathml>=3.81",  # formulas become MathML, which browsers draw by themselves
        ],
    },
    entry_points={"console_scripts": ["parlai-humaneval=parlai_humaneval.cli:main"]},
    classifiers=[
        "License :: OSI Approved :: MIT License",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Typing :: Typed",
    ],
)
