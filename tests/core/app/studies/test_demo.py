"""The demo study with a real model in place of its scripted ones."""

from app.backends import registry
from app.studies.demo import with_local_model
from app.studies.loader import load_study


def test_each_model_is_the_one_of_this_computer_with_options_that_it_has():
    models = with_local_model(load_study("demo")).file.models
    assert {(model.backend, model.model) for model in models.values()} == {("llama", "smollm2")}
    assert [registry.check_options("llama", model.options) for model in models.values()] == [[]] * len(models)
    assert all(model.options["extra"]["dry_multiplier"] > 0 for model in models.values())
    assert len({model.temperature for model in models.values()}) == len(models)  # they differ, so that people can too
