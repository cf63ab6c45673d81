# What the authors of DICES do before they fit their models with brms: bind both editions, name ethnicities, make White
# the reference and expand a formula with phase. Arguments: the csv of DICES-350, that of DICES-990, and a csv of texts
# (`raw`) with their ethnicity (`group`). Prints the number of rows of the model matrix.
paths <- commandArgs(trailingOnly = TRUE)
common <- c("rater_id", "rater_gender", "rater_race", "rater_age", "phase", "rater_education", "item_id",
            "degree_of_harm", "Q_overall")
first <- read.csv(paths[1])
second <- read.csv(paths[2])
dices <- rbind(first[c(common, "rater_raw_race")],
               setNames(second[c(common, "rater_race_raw")], c(common, "rater_raw_race")))
known <- read.csv(paths[3])
dices$ethnicity <- relevel(factor(known$group[match(dices$rater_raw_race, known$raw)]), "White")
dices$Q_overall <- factor(dices$Q_overall, levels = c("No", "Unsure", "Yes"), ordered = TRUE)
stopifnot(!anyNA(dices))
wanted <- model.matrix(~ rater_gender * (ethnicity + phase + rater_age + degree_of_harm + rater_education), dices)
cat(nrow(wanted), "\n")
