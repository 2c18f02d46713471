"""How large a study must be before it is run: turns, dialogues, workers, hours and money.

``sample_sizes`` and ``power`` are the formulas, ``designs`` what is compared with what, ``assumptions`` what is
taken for granted of every technique, ``inputs`` what a user may ask, ``study_plan`` the answer, ``simulate`` its proof.
"""
