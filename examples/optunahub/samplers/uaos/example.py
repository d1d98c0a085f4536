"""Minimize a function of a number, an integer and a category."""

import optuna


def objective(trial: optuna.Trial) -> float:
    """Return 0 at x = 1, n = 7 and kernel "poly" of degree 3."""
    x, n = trial.suggest_float("x", -5, 5), trial.suggest_int("n", 1, 12)
    kernel = trial.suggest_categorical("kernel", ["rbf", "poly", "linear"])
    miss = abs(trial.suggest_int("degree", 2, 5) - 3) if kernel == "poly" else 2
    return (x - 1) ** 2 + abs(n - 7) + miss


if __name__ == "__main__":
    import optunahub

    module = optunahub.load_module("samplers/uaos")
    study = optuna.create_study(sampler=module.OptunaSampler(seed=1))
    study.optimize(objective, n_trials=50)
    print(study.best_trial.params)
