"""Which model a preset's run gets, and what is said when there is none."""

from __future__ import annotations

import pytest

from pi_subagents.models import Profile, Secret
from pi_subagents.profiles import (
    CheckedModel,
    UnknownModel,
    check_own_model,
    choose_model,
    find_offered,
    find_pattern,
    only_model_of,
)

OFFERED = ("acme/large", "acme/small", "router/acme/large:free", "zoo/small", "zoo/tiger")


def refuse(wanted: str) -> CheckedModel:
    raise UnknownModel(f"asked about {wanted}")


def chosen(wanted: str | None = None, **fields: object) -> tuple[str | None, str | None, str | None]:
    choice = choose_model(Profile(name="p", **fields), wanted, CheckedModel)  # type: ignore[arg-type]  # any field
    return choice.profile.provider, choice.profile.model, choice.requested


def test_the_calls_model_goes_before_the_presets() -> None:
    assert chosen("zoo/tiger", model="acme/large", provider="acme") == (None, "zoo/tiger", "zoo/tiger")


def test_the_presets_model_is_used_with_its_provider() -> None:
    assert chosen(model="acme/large") == (None, "acme/large", "acme/large")
    assert chosen(model="large", provider="acme") == (None, "acme/large", "acme/large")
    assert chosen(model="acme/large", provider="acme") == (None, "acme/large", "acme/large")


def test_without_any_model_it_says_where_to_put_one() -> None:
    with pytest.raises(UnknownModel) as caught:
        chosen()
    assert str(caught.value) == (
        'No model resolved for preset "p". Pass "model" in the call, or add a line "model: provider/id" to the preset. '
        "On the command line: --model."
    )


def test_the_checks_name_and_warning_are_kept_and_so_is_what_was_asked_for() -> None:
    choice = choose_model(Profile(name="p"), "TIGER", lambda _wanted: CheckedModel("zoo/tiger", "beware"))
    assert (choice.profile.model, choice.requested, choice.warning) == ("zoo/tiger", "TIGER", "beware")


@pytest.mark.parametrize("field", [{"api_key": Secret("sk-1")}, {"extensions": ("x.ts",)}])
def test_a_preset_that_brings_its_own_key_or_provider_is_not_checked_against_what_others_are_offered(
    field: dict[str, object],
) -> None:
    preset = Profile(name="p", model="own/model", **field)  # type: ignore[arg-type]  # either field
    assert choose_model(preset, None, refuse).profile.model == "own/model"


def test_a_presets_key_is_never_sent_to_another_provider() -> None:
    preset = Profile(name="p", model="acme/large", api_key=Secret("sk-1"))
    with pytest.raises(UnknownModel, match="its own key for acme"):
        choose_model(preset, "zoo/tiger", CheckedModel)
    assert choose_model(preset, "small", CheckedModel).profile.model == "acme/small"
    assert choose_model(preset, "acme/small", CheckedModel).profile.model == "acme/small"


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("acme/large", "acme/large"),
        (" Acme/LARGE ", "acme/large"),
        ("large", "acme/large"),
        ("tiger:low", "zoo/tiger:low"),
        ("acme/large:free", "router/acme/large:free"),
        ("router/acme/large:free", "router/acme/large:free"),
    ],
)
def test_a_model_is_found_as_it_is_offered(wanted: str, found: str) -> None:
    assert find_offered(wanted, OFFERED) == found


def test_the_whole_name_goes_before_an_id_of_a_router() -> None:
    assert find_offered("acme/large", ("router/acme/large", "acme/large")) == "acme/large"


def test_an_id_that_several_providers_have_is_refused_with_their_names() -> None:
    with pytest.raises(UnknownModel) as caught:
        find_offered("small", OFFERED)
    assert str(caught.value) == 'Several providers offer the model "small". Name one of: acme/small, zoo/small'


@pytest.mark.parametrize(
    ("wanted", "meant"), [("zoo/tigre", "zoo/tiger"), ("tigger", "zoo/tiger"), ("ACME/larg", "acme/large")]
)
def test_an_unknown_model_is_refused_with_the_one_that_was_probably_meant(wanted: str, meant: str) -> None:
    with pytest.raises(UnknownModel) as caught:
        find_offered(wanted, OFFERED)
    assert str(caught.value) == (
        f'Unknown model: "{wanted}". Did you mean "{meant}"? Available models: {", ".join(OFFERED)}'
    )


def test_of_hundreds_of_models_only_the_first_are_named_in_the_order_of_the_offer() -> None:
    with pytest.raises(UnknownModel) as caught:
        find_offered("?", [f"z/{number}" for number in range(20, 0, -1)])
    assert str(caught.value).endswith("Available models: z/20, z/19, z/18, z/17, z/16, z/15, z/14, z/13 and 12 more")


@pytest.mark.parametrize(
    "pattern", ["tiger", "zoo/tig", "TIGER:high", "Acme Large", "acme/large", "router/acme/large:free"]
)
def test_a_profile_may_name_a_part_of_a_model_as_pi_understands_it(pattern: str) -> None:
    assert find_pattern(pattern, OFFERED) == pattern


@pytest.mark.parametrize("pattern", ["tigre", "acme/tiger", "/"])
def test_what_is_no_part_of_any_model_is_unknown(pattern: str) -> None:
    with pytest.raises(UnknownModel):
        find_pattern(pattern, OFFERED)


class Zoo:
    """Offers what the others here offer."""

    def check(self, wanted: str) -> CheckedModel:
        return CheckedModel(find_offered(wanted, OFFERED))

    def check_pattern(self, pattern: str) -> CheckedModel:
        return CheckedModel(find_pattern(pattern, OFFERED))

    def default_of(self, _provider: str) -> str | None:
        return "small"


def test_a_profiles_own_model_stays_as_it_is_written() -> None:
    profile = Profile(name="p", provider="zoo", model="tig")
    assert check_own_model(profile, Zoo()).profile == profile


def test_a_profiles_own_model_that_is_not_offered_is_refused_with_what_was_meant() -> None:
    with pytest.raises(UnknownModel, match=r'Unknown model: "zoo/tigre"[.] Did you mean "zoo/tiger"'):
        check_own_model(Profile(name="p", provider="zoo", model="tigre"), Zoo())


@pytest.mark.parametrize(
    "fields",
    [{"api_key": Secret("k")}, {"extensions": ("x.ts",)}, {"extra_args": ("--extension", "x.ts")}],
    ids=lambda fields: next(iter(fields)),
)
def test_a_profile_that_may_have_other_models_is_not_checked(fields: dict[str, object]) -> None:
    profile = Profile(name="p", model="unheard-of", **fields)  # type: ignore[arg-type]  # any field
    assert check_own_model(profile, Zoo()).profile == profile


@pytest.mark.parametrize("pattern", ["zoo/giraffe", "acme/large-2"])
def test_a_model_that_is_no_slip_of_the_pen_may_be_a_new_one_of_a_known_provider(pattern: str) -> None:
    assert find_pattern(pattern, (*OFFERED, "acme/large-1")) == pattern


def test_a_provider_that_offers_nothing_may_lack_a_key() -> None:
    with pytest.raises(UnknownModel, match='pi offers no models from "farm"; if it lacks a key, run `pi-subagents pi`'):
        find_pattern("farm/cow", OFFERED)


def test_a_provider_alone_stands_for_its_only_model_and_else_it_is_said_what_there_is() -> None:
    assert only_model_of("Router", OFFERED) == "acme/large:free"
    with pytest.raises(UnknownModel) as caught:
        only_model_of("zoo", OFFERED)
    assert str(caught.value).endswith("Available models: zoo/small, zoo/tiger")
    with pytest.raises(UnknownModel, match="if pi has no key for it, run `pi-subagents pi`"):
        only_model_of("farm", OFFERED)
