"""Every page and view of the app, by its link."""

from urllib.parse import quote_plus

PAGES = {"": {"": [""]},
         "lessons": {"": [""]},
         "data": {"data_view": ["People", "Sequences", "Split", "Recipe", "Your own"]},
         "quantile_layer": {"ql_view": ["Samples to quantiles", "How many points", "Distance of two",
                                        "Why Wasserstein"]},
         "train": {"train_view": ["New run", "Compare runs", "Tune M and p", "Models"]},
         "filters": {"filters_view": ["All filters", "One filter, large", "Where it fires"]},
         "distances": {"distances_view": ["Histograms", "Matrices", "Maps", "Where they disagree", "Over p and M"]},
         "sign": {"sign_step": ["1 You", "2 Your neighbour", "3 Strangers", "4 Your own data set"]},
         "verification": {"verification_view": ["Where to draw the line", "As the paper tells it",
                                                "Errors, and how sure they are", "Over p and M", "Those who try"]},
         "identification": {"identification_view": ["The more people are enrolled, the harder it gets",
                                                    "Who is taken for whom", "The attack"]},
         "desk": {"desk-view": ["Desk", "Audience", "Log"]},
         "results": {"results_view": ["Who leads", "The paper's table, and ours", "ROC and AUC",
                                      "Identification and imposters", "What the network adds", "M and p",
                                      "How much is enough", "Another day, and forgers", "The paper's budget",
                                      "Tuning"]}}
LINKS = [f"/{page}" + (f"?{key}={quote_plus(view)}" if key else "")
         for page, keys in PAGES.items() for key, views in keys.items() for view in views]
AUDIENCE = [f"/{page}?present=true" for page in ("sign", "verification", "identification", "desk", "results")]
SIZES = {"phone": (390, 844), "projector": (1024, 768), "laptop": (1366, 768)}
