"""Random scans, run by SillyTavern 1.19.0 itself and by the matcher: `python -m tests.oracle`.

`js/` loads the real engine from its npm package; `_real` installs and drives it; `_generator` makes
the cases, `_shrink` makes a disagreement small. The comparison is that of the conformance run.
"""
