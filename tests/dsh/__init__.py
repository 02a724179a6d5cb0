"""The loader in the real host: `nox -s dsh`.

`_install` brings Node and DSH from npm into a cache folder, `_model` stands in for the language
model, `driver/` is a plugin by which the tests steer the host from within, `_host` starts all of
it, and `_fault_host` is another half for the bridge that fails on request. The tests are skipped,
with the reason, where `nox -s dsh` does not run them.
"""
