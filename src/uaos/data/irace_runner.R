# Lets Python do the runs of irace: uaos writes this file beside a scenario and starts it.
#
# R asks on its output and reads the answers on its input. For each call of irace it prints a line
# with "@uaos" and the number of runs, and a line for each run with candidate, parent, instance, seed
# and the values of the parameters, apart by tabs; Python answers with a line for each, the cost. If
# Python is gone, so is the input, and R ends.

answers <- local({
  open <- NULL
  function(count) {
    if (is.null(open)) open <<- file("stdin", open = "r")
    readLines(open, n = count)
  }
})

give_up <- function(...) {
  message("uaos does not answer; it is uaos that starts this scenario, and does its runs")
  quit(save = "no", status = 3, runLast = FALSE)
}

# Seventeen digits give a number back exactly.
as_text <- function(value) {
  if (is.character(value)) value else if (is.na(value)) "NA" else sprintf("%.17g", value)
}

# The parents stand in a variable of irace's own; without it they are unknown.
parents <- function(ids) {
  known <- dynGet("configurations", NULL)
  if (is.null(known[[".PARENT."]])) return(rep("NA", length(ids)))
  as.character(known[[".PARENT."]][match(ids, known[[".ID."]])])
}

# irace's targetRunnerParallel.
evaluate <- function(experiments, ...) {
  # irace 4 writes id_configuration for id.configuration.
  id <- intersect(c("id.configuration", "id_configuration"), names(experiments[[1L]]))
  instance <- intersect(c("id.instance", "id_instance"), names(experiments[[1L]]))
  ids <- vapply(experiments, function(e) as.character(e[[id]]), "")
  parent <- parents(ids)
  lines <- vapply(seq_along(experiments), function(i) {
    e <- experiments[[i]]
    values <- vapply(e$configuration, as_text, "")
    paste(c(ids[i], parent[i], e[[instance]], sprintf("%.0f", e$seed), values), collapse = "\t")
  }, "")
  if (Sys.getenv("UAOS_RUNS") == "") give_up()
  writeLines(c(paste("@uaos", length(lines)), lines))
  costs <- tryCatch(answers(length(lines)), error = give_up, warning = give_up)
  if (length(costs) < length(lines)) give_up()
  lapply(as.numeric(costs), function(cost) list(cost = cost, time = NA_real_))
}

# irace's repairConfiguration: each real number has as many digits as its declaration says.
digits <- c()
rounded <- function(configuration, parameters, ...) {
  for (name in names(digits)) {
    value <- configuration[[name]]
    if (!is.na(value)) {
      range <- as.numeric(unlist(parameters$domains[[name]]))
      if (length(range) < 2L) range <- as.numeric(parameters$domain[[name]])
      configuration[[name]] <- min(max(round(value, digits[[name]]), range[1]), range[2])
    }
  }
  configuration
}

if (sys.nframe() == 0L) {
  suppressPackageStartupMessages(library(irace))
  start <- if (exists("irace_cmdline")) irace_cmdline else irace.cmdline
  start(c("--scenario", "scenario.txt", commandArgs(trailingOnly = TRUE)))
}
