"""The platform under fire: `./dev test tests/chaos`. Beside the suite, because it takes as long as all the rest."""
