"""The publications that methods and configurations come from, written down once."""

import re


def cited(authors: str, year: int, title: str, venue: str) -> str:
    """A full reference."""
    return f'{authors} ({year}), "{title}", {venue}'


def short(reference: str) -> str:
    """A full reference as it is cited in running text: Qin et al. (2009)."""
    match = re.match(r"(.*?) \((\d{4})\)", reference)
    if match is None:
        return reference
    surnames = [name.split(",")[0] for name in match[1].split("; ")]
    people = f"{surnames[0]} et al." if len(surnames) > 2 else " & ".join(surnames)
    return f"{people} ({match[2]})"


FRAMEWORK = cited(
    "Sharma, M.; López-Ibáñez, M.; Kazakov, D.",
    2020,
    "Unified framework for the adaptive operator selection of discrete parameters",
    "arXiv 2005.05613",
)
AUTHORS_CODE = cited(
    "López-Ibáñez, M.; Sharma, M.",
    2021,
    "Tune-AOS-bbob, bin/aos.py of the branch manuel",
    "GitHub, mudita11/Tune-AOS-bbob",
)
LOBO_1997 = cited(
    "Lobo, F. G.; Goldberg, D. E.",
    1997,
    "Decision making in a hybrid genetic algorithm",
    "IEEE International Conference on Evolutionary Computation, 121–125",
)
IGEL_1999 = cited(
    "Igel, C.; Kreutz, M.",
    1999,
    "Using fitness distributions to improve the evolution of learning structures",
    "Congress on Evolutionary Computation, vol. 3, 1902–1909",
)
IGEL_2003 = cited(
    "Igel, C.; Kreutz, M.",
    2003,
    "Operator adaptation in evolutionary computation and its application to structure "
    "optimization of neural networks",
    "Neurocomputing 55(1–2), 347–361",
)
NIEHAUS_2001 = cited(
    "Niehaus, J.; Banzhaf, W.",
    2001,
    "Adaption of operator probabilities in genetic programming",
    "EuroGP, LNCS 2038, 325–336",
)
JULSTROM_1995 = cited(
    "Julstrom, B. A.",
    1995,
    "What have you done for me lately? Adapting operator probabilities in a steady-state genetic "
    "algorithm",
    "International Conference on Genetic Algorithms, 81–87",
)
JULSTROM_1997 = cited(
    "Julstrom, B. A.",
    1997,
    "Adaptive operator probabilities in a genetic algorithm that applies three operators",
    "ACM Symposium on Applied Computing, 233–238",
)
VAFAEE_2008 = cited(
    "Vafaee, F.; Nelson, P. C.; Zhou, C.; Xiao, W.",
    2008,
    "Dynamic adaptation of genetic operators' probabilities",
    "Nature Inspired Cooperative Strategies for Optimization, 159–168",
)
QIN_2009 = cited(
    "Qin, A. K.; Huang, V. L.; Suganthan, P. N.",
    2009,
    "Differential evolution algorithm with strategy adaptation for global numerical optimization",
    "IEEE Transactions on Evolutionary Computation 13(2), 398–417",
)
QIAN_2018 = cited(
    "Qian, W.; Chai, J.; Xu, Z.; Zhang, Z.",
    2018,
    "Differential evolution algorithm with multiple mutation strategies based on roulette wheel "
    "selection",
    "Applied Intelligence 48(10), 3612–3629",
)
MATURANA_2008 = cited(
    "Maturana, J.; Saubion, F.",
    2008,
    "A compass to guide genetic algorithms",
    "PPSN X, LNCS 5199, 256–265",
)
MATURANA_2010 = cited(
    "Maturana, J.; Lardeux, F.; Saubion, F.",
    2010,
    "Autonomous operator management for evolutionary algorithms",
    "Journal of Heuristics 16(6), 881–909",
)
FIALHO_2008 = cited(
    "Fialho, Á.; Da Costa, L.; Schoenauer, M.; Sebag, M.",
    2008,
    "Extreme value based adaptive operator selection",
    "PPSN X, LNCS 5199, 175–184",
)
FIALHO_2010 = cited(
    "Fialho, Á.; Schoenauer, M.; Sebag, M.",
    2010,
    "Toward comparison-based adaptive operator selection",
    "GECCO, 767–774",
)
FIALHO_BBOB = cited(
    "Fialho, Á.; Schoenauer, M.; Sebag, M.",
    2010,
    "Fitness-AUC bandit adaptive strategy selection vs. the probability matching one within "
    "differential evolution: an empirical comparison on the BBOB-2010 noiseless testbed",
    "GECCO companion",
)
SHARMA_2018 = cited(
    "Sharma, M.; López-Ibáñez, M.; Kazakov, D.",
    2018,
    "Performance assessment of recursive probability matching for adaptive operator selection in "
    "differential evolution",
    "PPSN XV, 321–333",
)
CONSOLI_2014 = cited(
    "Consoli, P. A.; Yao, X.",
    2014,
    "Diversity-driven selection of multiple crossover operators for the capacitated arc routing "
    "problem",
    "EvoCOP",
)
GONG_2010 = cited(
    "Gong, W.; Fialho, Á.; Cai, Z.",
    2010,
    "Adaptive strategy selection in differential evolution",
    "GECCO",
)
STORN_1997 = cited(
    "Storn, R.; Price, K.",
    1997,
    "Differential evolution – a simple and efficient heuristic for global optimization over "
    "continuous spaces",
    "Journal of Global Optimization 11(4), 341–359",
)
ZHANG_2009 = cited(
    "Zhang, J.; Sanderson, A. C.",
    2009,
    "JADE: adaptive differential evolution with optional external archive",
    "IEEE Transactions on Evolutionary Computation 13(5), 945–958",
)
TANABE_2013 = cited(
    "Tanabe, R.; Fukunaga, A.",
    2013,
    "Success-history based parameter adaptation for differential evolution",
    "IEEE Congress on Evolutionary Computation, 71–78",
)
TANABE_2014 = cited(
    "Tanabe, R.; Fukunaga, A. S.",
    2014,
    "Improving the search performance of SHADE using linear population size reduction",
    "IEEE Congress on Evolutionary Computation, 1658–1665",
)
TANABE_2015 = cited(
    "Tanabe, R.; Fukunaga, A.",
    2015,
    "Tuning differential evolution for cheap, medium, and expensive computational budgets",
    "IEEE Congress on Evolutionary Computation",
)
BREST_2017 = cited(
    "Brest, J.; Maučec, M. S.; Bošković, B.",
    2017,
    "Single objective real-parameter optimization: algorithm jSO",
    "IEEE Congress on Evolutionary Computation, 1311–1318",
)
MOHAMED_2017 = cited(
    "Mohamed, A. W.; Hadi, A. A.; Fattouh, A. M.; Jambi, K. M.",
    2017,
    "LSHADE with semi-parameter adaptation hybrid with CMA-ES for solving CEC 2017 benchmark "
    "problems",
    "IEEE Congress on Evolutionary Computation, 145–152",
)
SALLAM_2020 = cited(
    "Sallam, K. M.; Elsayed, S. M.; Chakrabortty, R. K.; Ryan, M. J.",
    2020,
    "Improved multi-operator differential evolution algorithm for solving unconstrained problems",
    "IEEE Congress on Evolutionary Computation",
)
STANOVOV_2021 = cited(
    "Stanovov, V.; Akhmedova, S.; Semenkin, E.",
    2021,
    "NL-SHADE-RSP algorithm with adaptive archive and selective pressure for CEC 2021 numerical "
    "optimization",
    "IEEE Congress on Evolutionary Computation, 809–816",
)
LATORRE_2010 = cited(
    "LaTorre, A.; Muelas, S.; Peña, J. M.",
    2010,
    "Benchmarking a MOS-based algorithm on the BBOB-2010 noiseless function testbed",
    "GECCO workshop on black-box optimization benchmarking",
)
BUJOK_2022 = cited(
    "Bujok, P.; Kolenovsky, P.",
    2022,
    "Eigen crossover in cooperative model of evolutionary algorithms applied to CEC 2022 single "
    "objective numerical optimisation",
    "IEEE Congress on Evolutionary Computation",
)
STANOVOV_2024 = cited(
    "Stanovov, V.; Semenkin, E.",
    2024,
    "Success rate-based adaptive differential evolution L-SRTDE for CEC 2024 competition",
    "IEEE Congress on Evolutionary Computation",
)
