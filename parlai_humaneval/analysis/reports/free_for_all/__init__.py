"""Free-for-all (Ma et al. 2023): points, ranks, TrueSkill."""
