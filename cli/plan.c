// `calder plan`: who computes what on many processors, and how long one evaluation would take.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common_options.h"
#include "copies.h"
#include "model_file.h"
#include "plan_gpu.h"
#include "plan_say.h"
#include "progress.h"
#include "quantities.h"
#include "world_price.h"

static const char usual_processors[] = "1..16";
enum { LONGEST_LIST = 200 }; // of numbers that are all planned

static const char* distribution_choice(int index) {
    static const char* const names[] = {"balanced", "jung", NULL};
    return names[index];
}

static const char* algorithm_choice(int index) {
    static const char* const names[] = {"aba", "assembly", NULL};
    return names[index];
}

static int read_duration(const char* option, const char* text, double* seconds) {
    if (!text || cal_duration_parse(text, seconds)) return CAL_EXIT_DONE;
    return cal_complain(CAL_EXIT_MISTAKE,
                        "--%s '%s' is not a duration; allowed: a number with s, ms, us or ns, as 0.4ms", option, text);
}

static int read_costs(cal_plan_question* p) {
    int status = read_duration("compute", p->compute, &p->costs.compute);
    if (status == CAL_EXIT_DONE) status = read_duration("message", p->message, &p->costs.message);
    if (status == CAL_EXIT_DONE) status = read_duration("send", p->send, &p->costs.send);
    if (status == CAL_EXIT_DONE) status = read_duration("read", p->read, &p->costs.read);
    if (status != CAL_EXIT_DONE) return status;
    p->measured = !p->compute && !p->message;
    if (!p->compute != !p->message || (p->measured && p->send))
        return cal_complain(
            CAL_EXIT_MISTAKE,
            "a machine is described by --compute and --message together; without them this one is measured");
    if (!p->measured && p->costs.compute == 0)
        return cal_complain(CAL_EXIT_MISTAKE, "--compute '%s': a joint takes longer than that", p->compute);
    if (p->costs.send > p->costs.message)
        return cal_complain(CAL_EXIT_MISTAKE, "--send '%s' is a part of --message '%s' and cannot be longer", p->send,
                            p->message);
    if (!p->measured && p->machine)
        return cal_complain(CAL_EXIT_MISTAKE, "--machine '%s' is measured; leave it out where costs are given",
                            p->machine);
    if (!p->distribution) p->distribution = p->measured ? "balanced" : "jung";
    p->kind = strcmp(p->distribution, "jung") == 0 ? CAL_JUNG : CAL_BALANCED;
    return CAL_EXIT_DONE;
}

// What the schedule says that the ranks of this machine send, and what the plan that is made of it does send.
static cal_status count_messages(cal_plan_question* p, cal_machine* machine, cal_error* error) {
    char text[16];
    cal_plan* made = NULL;
    const int ranks = cal_machine_processors(machine);
    const char* schedule = cal_plan_schedule_for(p, ranks, text, sizeof text);
    cal_status status = cal_schedule_predict(p->model, schedule, ranks, &p->costs, &p->expected, error);
    if (status == CAL_OK)
        status = cal_plan_create_scheduled(p->model, "assembly", schedule, machine, NULL, &made, error);
    if (status == CAL_OK && cal_ranks_traffic(made, &p->sent_messages, &p->sent_bytes)) p->ranks = ranks;
    cal_plan_destroy(made);
    return status;
}

static int measure(cal_plan_question* p) {
    cal_machine* machine = NULL;
    // One core has nobody to exchange anything with: two threads share it.
    const bool threads = !p->machine || strcmp(p->machine, "threads") == 0;
    const char* text = !threads ? p->machine : cal_core_count() > 1 ? "threads" : "threads:2";
    int status = cal_machine_open(text, p->lanes, NULL, &machine);
    if (status != CAL_EXIT_DONE) return status;
    cal_error error = {CAL_OK, ""};
    error.status = cal_machine_measure(machine, p->model, &p->costs, &error);
    if (error.status == CAL_OK && p->algorithm && strcmp(p->algorithm, "assembly") == 0)
        error.status = count_messages(p, machine, &error);
    cal_machine_destroy(machine);
    if (error.status != CAL_OK) return cal_complain_error(&error);
    status = read_duration("read", p->read, &p->costs.read); // what is given goes before what was measured
    if (status != CAL_EXIT_DONE) return status;
    p->cores = strncmp(text, "threads", strlen("threads")) == 0 ? cal_core_count() : 0;
    // Cores are not faster together than alone: less than one is noise.
    if (p->cores > 1) p->crowding = fmax(1.0, cal_copies_crowding(p->model, (int)strtol(p->lanes, NULL, 10), p->cores));
    return CAL_EXIT_DONE;
}

// What a joint costs when so many processors compute at once, between one and all cores in proportion.
static double crowded_compute(const cal_plan_question* p, int processors) {
    if (p->cores < 2 || p->crowding <= 0) return p->costs.compute;
    const double share = (fmin(processors, p->cores) - 1) / (p->cores - 1);
    return p->costs.compute * (1 + share * (p->crowding - 1));
}

static int schedule(cal_plan_question* p) {
    const int joints = cal_model_joint_count(p->model);
    p->rows = calloc((size_t)p->count, sizeof *p->rows);
    p->reports = calloc((size_t)p->count, sizeof *p->reports);
    if (!p->rows || !p->reports) return cal_complain(CAL_EXIT_FAILED, "no memory for a plan of %d joints", joints);
    cal_error error = {CAL_OK, ""};
    for (int i = 0; i < p->count && error.status == CAL_OK; i++) {
        cal_plan_row* r = &p->rows[i];
        char text[16];
        r->processors = p->counts[i];
        error.status = cal_schedule_predict(p->model, cal_plan_schedule_for(p, r->processors, text, sizeof text),
                                            r->processors, &p->costs, &p->reports[i], &error);
        r->used = p->reports[i].processors;
        r->seconds = p->reports[i].seconds;
        r->speedup = r->seconds > 0 ? joints * p->costs.compute / r->seconds : 1;
    }
    return error.status == CAL_OK ? CAL_EXIT_DONE : cal_complain_error(&error);
}

// Gives the joints to at most so many processors. What a joint costs depends on how many compute at once, which are those that get
// something: fewer are tried until all of them do. Jung's distribution has the time of his own formula, and its price beside it.
static cal_status place(const cal_plan_question* p, cal_plan_row* r, cal_error* error) {
    int most = r->processors;
    for (;;) {
        cal_costs costs = p->costs;
        costs.compute = crowded_compute(p, most);
        cal_status status =
            cal_distribute(p->model, p->kind, most, &costs, p->processor_of_joint, &r->used, &r->seconds, error);
        if (status) return status;
        if (r->used < most && crowded_compute(p, r->used) < costs.compute) {
            most = r->used;
            continue;
        }
        r->trunk = 0;
        for (int i = 0; i < cal_model_joint_count(p->model); i++)
            r->trunk += p->processor_of_joint[i] == CAL_EVERY_PROCESSOR;
        if (p->kind == CAL_JUNG)
            status = cal_price(p->model, p->processor_of_joint, &costs, r->used, &r->price, NULL, error);
        if (p->kind == CAL_BALANCED && p->measured) {
            const int lanes = (int)strtol(p->lanes, NULL, 10);
            costs.lanes = lanes > 0 ? lanes : cal_best_lanes();
            status = cal_price(p->model, p->processor_of_joint, &costs, r->used, &r->seconds, NULL, error);
        }
        // One core alone is faster than several that crowd each other and gain less.
        const double alone = cal_model_joint_count(p->model) * p->costs.compute;
        if (status || p->crowding <= 0 || most == 1 || r->seconds <= alone) return status;
        most = 1;
    }
}

// A list of very many numbers is planned for the round ones alone: more processors are not slower, and the first of the fastest is
// looked for between two of them.
static void thin_out(cal_plan_question* p) {
    if (p->count <= LONGEST_LIST) return;
    int kept = 0;
    for (int i = 0; i < p->count; i++)
        if (cal_plan_is_round(p, i)) p->counts[kept++] = p->counts[i];
    p->count = kept;
    p->thinned = true;
}

static cal_status find_first_fastest(cal_plan_question* p, cal_error* error) {
    const double joints = cal_model_joint_count(p->model);
    const int at = (int)(cal_plan_fastest(p) - p->rows);
    cal_status status = CAL_OK;
    if (!p->thinned || at == 0) return status;
    cal_plan_row found = p->rows[at];
    int slower = p->rows[at - 1].processors;
    while (found.processors - slower > 1 && status == CAL_OK) {
        cal_plan_row r = {.processors = slower + (found.processors - slower) / 2};
        status = place(p, &r, error);
        r.speedup = r.seconds > 0 ? joints * p->costs.compute / r.seconds : 1;
        if (r.seconds <= found.seconds * (1 + 1e-9))
            found = r;
        else
            slower = r.processors;
    }
    if (found.processors == p->rows[at].processors) return status;
    memmove(&p->rows[at + 1], &p->rows[at], (size_t)(p->count - at) * sizeof *p->rows);
    p->rows[at] = found;
    p->count++;
    // What is drawn and saved is the placement of the last row.
    return status == CAL_OK ? place(p, &p->rows[p->count - 1], error) : status;
}

static int distribute(cal_plan_question* p) {
    const int joints = cal_model_joint_count(p->model);
    p->rows = calloc((size_t)p->count + 1, sizeof *p->rows); // and the first of the fastest
    p->processor_of_joint = calloc((size_t)joints + 1, sizeof *p->processor_of_joint);
    if (!p->rows || !p->processor_of_joint)
        return cal_complain(CAL_EXIT_FAILED, "no memory for a plan of %d joints", joints);
    cal_error error = {CAL_OK, ""};
    cal_progress progress = cal_progress_start("planning");
    for (int i = 0; i < p->count && error.status == CAL_OK; i++) {
        cal_plan_row* r = &p->rows[i];
        // More processors than joints change nothing.
        if (i > 0 && r[-1].processors >= joints && p->counts[i] >= joints) {
            *r = r[-1];
            r->processors = p->counts[i];
            continue;
        }
        r->processors = p->counts[i];
        error.status = place(p, r, &error);
        r->speedup = r->seconds > 0 ? joints * p->costs.compute / r->seconds : 1;
        cal_progress_show(&progress, (i + 1.0) / p->count);
    }
    if (error.status == CAL_OK) error.status = find_first_fastest(p, &error);
    cal_progress_end(&progress);
    return error.status == CAL_OK ? CAL_EXIT_DONE : cal_complain_error(&error);
}

static void print_details(void) {
    printf(
        "\nTimes are those of one evaluation: all four passes, and the solver's own work. --compute is the time a\n"
        "joint takes, --message the time that a cut between two processors adds to an evaluation, --send the\n"
        "part of it for which the sender can do nothing else; --read what a joint that others show costs its reader, "
        "so\n"
        "that the trunk, the joints above the cuts, may be computed by every processor that has something below them\n"
        "(0: never, cuts are handed over). Without them all are measured, here with all\n"
        "threads, or on the ranks of 'mpirun -n 2 calder plan MODEL --machine mpi'; on threads also how much slower\n"
        "cores are together than alone, which the times of those that get something contain. With Jung's distribution\n"
        "time is that of his own formula, and 'by price' what the walks take in virtual time, as for the other. --tree "
        "and --save are about\n"
        "the last number of --processors. With given costs the distribution is Jung's. Of more than 200 numbers the "
        "ends,\n"
        "powers of two and what is half way between them are planned, and the first of the fastest.\n"
        "Of a world (a scene, or with --world a model whose shapes touch) the time of a run to --time is predicted: it "
        "is\n"
        "divided among the processors, which run one after the other here. Of a long list only the ends, powers of two "
        "and\n"
        "the numbers half way between them are tried.\n"
        "With --machine cuda a GPU is priced that need not be here, as --gpu bandwidth=3.35TB/s,joint=3us: its "
        "memory's\n"
        "bandwidth, its peak in 64-bit operations, the time of a launch in a recorded sequence, that of a trip to the\n"
        "host, and what a joint takes where joints follow each other, which 'calder bench forward MODEL --batch 32\n"
        "--machine cuda' measures. What is not given is an H200's. Without --algorithm that of aba is priced, and a "
        "line "
        "says\n"
        "where assembly is faster: the two round differently, so which one runs is said by --algorithm, and not by "
        "the\n"
        "machine.\n");
}

// A GPU is priced from what it is like: nothing is measured, and nothing divided.
static int price_gpu(cal_plan_question* p) {
    const bool assembles = p->algorithm && strcmp(p->algorithm, "assembly") == 0;
    if (p->compute || p->message || p->send || p->read || p->distribution || p->save || p->tree ||
        strcmp(p->processors, usual_processors) != 0 || strcmp(p->lanes, "0") != 0)
        return cal_complain(CAL_EXIT_MISTAKE,
                            "--machine cuda is priced from --gpu, --batch, --algorithm and --schedule: leave the "
                            "others out");
    if (assembles && p->batch > 1)
        return cal_complain(CAL_EXIT_MISTAKE, "a GPU runs many instances with algorithm aba: leave --batch out");
    int status = cal_model_from_argument(p->model_name, &p->model);
    const cal_gpu_question question = {.name = p->model_name,
                                       .model = p->model,
                                       .instances = (int)p->batch,
                                       .gpu = p->gpu,
                                       .algorithm = p->algorithm,
                                       .schedule = p->schedule,
                                       .json = p->json};
    if (status == CAL_EXIT_DONE) status = cal_plan_gpu(&question);
    cal_model_destroy(p->model);
    return status;
}

// What goes with a model only.
static int refuse_for_world(const cal_plan_question* p) {
    const struct {
        const char* name;
        bool given;
    } options[] = {{"compute", p->compute != NULL},
                   {"message", p->message != NULL},
                   {"send", p->send != NULL},
                   {"read", p->read != NULL},
                   {"distribution", p->distribution != NULL},
                   {"machine", p->machine != NULL},
                   {"schedule", p->schedule != NULL},
                   {"save", p->save != NULL},
                   {"tree", p->tree},
                   {"algorithm", p->algorithm && strcmp(p->algorithm, "aba") != 0}};
    for (size_t i = 0; i < CAL_ARRAY_COUNT(options); i++)
        if (options[i].given)
            return cal_complain(CAL_EXIT_MISTAKE, "--%s is for a model; '%s' is a world here", options[i].name,
                                p->model_name);
    return CAL_EXIT_DONE;
}

static int check_options(const cal_plan_question* p, bool assembles, bool world) {
    if (p->save && cal_is_model_file(p->model_name) && cal_is_same_file(p->model_name, p->save))
        return cal_complain(CAL_EXIT_MISTAKE, "--save '%s' would be written over the model", p->save);
    if (p->tree && p->json) return cal_complain(CAL_EXIT_MISTAKE, "--tree draws and --json does not; leave one out");
    if (p->time > 0 && !world)
        return cal_complain(CAL_EXIT_MISTAKE, "--time is for a world: a scene, or a model with --world");
    const int status = world ? refuse_for_world(p) : CAL_EXIT_DONE;
    if (status != CAL_EXIT_DONE) return status;
    if (p->schedule && !assembles)
        return cal_complain(CAL_EXIT_MISTAKE, "--schedule '%s' is for --algorithm assembly", p->schedule);
    if (assembles && (p->save || p->distribution || p->send || p->read))
        return cal_complain(CAL_EXIT_MISTAKE, "--%s is for --algorithm aba",
                            p->save           ? "save"
                            : p->distribution ? "distribution"
                            : p->send         ? "send"
                                              : "read");
    return CAL_EXIT_DONE;
}

int cal_command_plan(int argc, char** argv) {
    cal_plan_question p = {.processors = usual_processors, .lanes = "0", .batch = 1};
    const cal_option table[] = {
        {"processors", CAL_OPTION_TEXT, &p.processors, "LIST", "how many: 16, or 1..128, or 1,2,4,8", 0, 0, NULL},
        {"algorithm", CAL_OPTION_CHOICE, &p.algorithm, "NAME",
         "aba, or assembly, whose schedule is drawn [aba; of --machine cuda: which is faster]", 0, 0, algorithm_choice},
        {"schedule", CAL_OPTION_TEXT, &p.schedule, "HOW",
         "of assembly: auto, serial, balanced, device, P or even:P [as many parts as processors]", 0, 0, NULL},
        {"compute", CAL_OPTION_TEXT, &p.compute, "TIME", "time per joint, as 0.4ms", 0, 0, NULL},
        {"message", CAL_OPTION_TEXT, &p.message, "TIME", "time per cut edge, as 1.5ms", 0, 0, NULL},
        {"send", CAL_OPTION_TEXT, &p.send, "TIME", "the sender's part of --message", 0, 0, NULL},
        {"read", CAL_OPTION_TEXT, &p.read, "TIME", "what another processor's joint costs its reader; 0s: hand over", 0,
         0, NULL},
        {"distribution", CAL_OPTION_CHOICE, &p.distribution, "NAME", "how joints are given to processors", 0, 0,
         distribution_choice},
        CAL_OPTION_LINE_MACHINE(&p.machine, "what to measure: threads, or mpi; or cuda: price a GPU"),
        {"gpu", CAL_OPTION_TEXT, &p.gpu, "WHAT",
         "of --machine cuda: bandwidth, peak, launch, trip, joint, child [an H200]", 0, 0, NULL},
        {"batch", CAL_OPTION_COUNT, &p.batch, "N", "of --machine cuda: instances side by side", 1, 1e8, NULL},
        {"lanes", CAL_OPTION_CHOICE, &p.lanes, "W", "bodies that one instruction works on, when measuring", 0, 0,
         cal_lanes_choice},
        {"tree", CAL_OPTION_FLAG, &p.tree, NULL, "draw who computes what", 0, 0, NULL},
        {"save", CAL_OPTION_TEXT, &p.save, "FILE", "write the placement, for 'calder sim --placement'", 0, 0, NULL},
        {"world", CAL_OPTION_FLAG, &p.world, NULL, "of a model whose shapes touch: plan its world, as that of a scene",
         0, 0, NULL},
        {"time", CAL_OPTION_NUMBER, &p.time, "S", "of a world: seconds that are simulated; 0: for 50,000 events", 0,
         1e6, NULL},
        CAL_OPTION_LINE_JSON(&p.json),
    };
    const cal_usage usage = {"plan",
                             "MODEL|WORLD",
                             "Predicts the time of an evaluation, or of a world, on many processors.",
                             print_details,
                             "calder plan mobile:s=3,l=5,o=9 --processors 1..128 --compute 0.4ms --message 1.5ms",
                             1,
                             1};
    int argument_count = 0;
    int status = cal_options_parse(&usage, table, CAL_ARRAY_COUNT(table), argc, argv, &argument_count);
    if (status != CAL_OPTIONS_PARSED) return status;
    p.model_name = argv[1];
    const bool assembles = p.algorithm && strcmp(p.algorithm, "assembly") == 0,
               world = cal_is_world(p.model_name, p.world);
    status = check_options(&p, assembles, world);
    if (status != CAL_EXIT_DONE) return status;
    const bool on_gpu = p.machine && strcmp(p.machine, "cuda") == 0;
    if (on_gpu) return price_gpu(&p);
    if (p.gpu || p.batch > 1)
        return cal_complain(CAL_EXIT_MISTAKE, "--%s is for --machine cuda", p.gpu ? "gpu" : "batch");
    status = read_costs(&p);
    if (status != CAL_EXIT_DONE) return status;
    p.count = cal_processors_parse(p.processors, &p.counts);
    if (p.count == 0)
        return cal_complain(
            CAL_EXIT_MISTAKE,
            "--processors '%s' is not a rising list of whole numbers; allowed: 16, or 1..128, or 1,2,4,8",
            p.processors);
    if (world) {
        status = cal_plan_world(p.model_name, p.counts, p.count, p.time, p.json);
        free(p.counts);
        return status;
    }
    thin_out(&p);
    status = cal_model_from_argument(p.model_name, &p.model);
    if (status == CAL_EXIT_DONE && p.measured) status = measure(&p);
    if (status == CAL_EXIT_DONE) status = assembles ? schedule(&p) : distribute(&p);
    if (status == CAL_EXIT_DONE) status = cal_plan_say(&p);
    cal_model_destroy(p.model);
    free(p.counts);
    free(p.rows);
    free(p.reports);
    free(p.processor_of_joint);
    return status;
}
