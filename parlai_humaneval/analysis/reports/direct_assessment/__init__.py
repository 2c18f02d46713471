"""Direct assessment (Ji et al. 2022): sliders, with workers checked by a degraded model."""
