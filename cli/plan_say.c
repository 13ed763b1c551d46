// What `calder plan` has found: tables, JSON, drawings, and the file of a placement.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calder/calder_record.h"
#include "common_options.h"
#include "joint_tree.h"
#include "json.h"
#include "model_file.h"
#include "plan_say.h"
#include "quantities.h"

enum { LONGEST_TABLE = 20 }; // rows that are printed

const char* cal_plan_schedule_for(const cal_plan_question* p, int processors, char* text, size_t capacity) {
    snprintf(text, capacity, "%d", processors);
    return p->schedule ? p->schedule : text;
}

const cal_plan_row* cal_plan_fastest(const cal_plan_question* p) {
    const cal_plan_row* best = &p->rows[0];
    for (int i = 1; i < p->count; i++)
        if (p->rows[i].seconds < best->seconds * (1 - 1e-9)) best = &p->rows[i];
    return best;
}

bool cal_plan_is_round(const cal_plan_question* p, int i) {
    if (i == 0 || i + 1 == p->count) return true;
    int n = p->counts[i];
    while (n % 2 == 0) n /= 2;
    return n == 1 || n == 3;
}

static void print_json(const cal_plan_question* p) {
    cal_json json = {.file = stdout};
    cal_json_open(&json, NULL, '{');
    cal_json_text(&json, "model", p->model_name);
    cal_json_integer(&json, "joints", cal_model_joint_count(p->model));
    cal_json_integer(&json, "depth", cal_model_depth(p->model));
    if (p->reports)
        cal_json_text(&json, "algorithm", "assembly");
    else
        cal_json_text(&json, "distribution", p->distribution);
    cal_json_boolean(&json, "measured", p->measured);
    cal_json_number(&json, "compute_s", p->costs.compute);
    cal_json_number(&json, "message_s", p->costs.message);
    cal_json_number(&json, "send_s", p->costs.send);
    cal_json_number(&json, "read_s", p->costs.read);
    if (p->crowding > 0) cal_json_number(&json, "crowding", p->crowding);
    cal_json_number(&json, "longest_path_s", cal_model_depth(p->model) * p->costs.compute);
    cal_json_integer(&json, "useful_processors", p->rows[p->count - 1].used);
    cal_json_integer(&json, "fastest_processors", cal_plan_fastest(p)->used);
    cal_json_open(&json, "rows", '[');
    for (int i = 0; i < p->count; i++) {
        cal_json_open(&json, NULL, '{');
        cal_json_integer(&json, "processors", p->rows[i].processors);
        cal_json_integer(&json, "used", p->rows[i].used);
        cal_json_number(&json, "time_s", p->rows[i].seconds);
        cal_json_number(&json, "speedup", p->rows[i].speedup);
        if (!p->reports) cal_json_integer(&json, "trunk", p->rows[i].trunk);
        if (!p->reports)
            cal_json_number(&json, "price_s", p->rows[i].price > 0 ? p->rows[i].price : p->rows[i].seconds);
        if (p->reports) {
            cal_json_integer(&json, "parts", p->reports[i].parts);
            cal_json_integer(&json, "joins", p->reports[i].joins);
            cal_json_integer(&json, "height", p->reports[i].height);
            cal_json_integer(&json, "open_joints", p->reports[i].open_joints);
            cal_json_number(&json, "operations", p->reports[i].operations);
            cal_json_integer(&json, "messages", p->reports[i].messages);
            cal_json_integer(&json, "bytes", p->reports[i].bytes);
        }
        cal_json_close(&json, '}');
    }
    cal_json_close(&json, ']');
    if (p->ranks > 0) {
        cal_json_open(&json, "sent", '{');
        cal_json_integer(&json, "ranks", p->ranks);
        cal_json_integer(&json, "expected_messages", p->expected.messages);
        cal_json_integer(&json, "expected_bytes", p->expected.bytes);
        cal_json_integer(&json, "messages", p->sent_messages);
        cal_json_integer(&json, "bytes", p->sent_bytes);
        cal_json_close(&json, '}');
    }
    cal_json_close(&json, '}');
}

// Of a long list: the round numbers, and the first of the fastest.
static bool is_shown(const cal_plan_question* p, const cal_plan_row* fastest, int i) {
    return p->count <= LONGEST_TABLE || p->thinned || &p->rows[i] == fastest || cal_plan_is_round(p, i);
}

static void print_table(const cal_plan_question* p) {
    char text[4][32];
    const int joints = cal_model_joint_count(p->model), depth = cal_model_depth(p->model);
    printf("%-13s %s: %d joint%s, %d on the longest path\n", "model", p->model_name, joints, joints == 1 ? "" : "s",
           depth);
    printf("%-13s %s per joint, %s per cut edge", "costs", cal_duration_text(p->costs.compute, text[0], sizeof text[0]),
           cal_duration_text(p->costs.message, text[1], sizeof text[1]));
    if (p->costs.send > 0)
        printf(" of which %s keep the sender", cal_duration_text(p->costs.send, text[2], sizeof text[2]));
    if (p->costs.read > 0)
        printf(", %s per joint that another one reads", cal_duration_text(p->costs.read, text[2], sizeof text[2]));
    printf(", %s\n", p->measured ? "measured here" : "as given");
    if (p->crowding > 0)
        printf("%-13s %d cores that compute at once need %.2f times as long as one alone\n", "crowding", p->cores,
               p->crowding);
    printf("%-13s %s\n\n", "distribution", p->distribution);
    const bool trunk = p->kind == CAL_BALANCED && p->costs.read > 0;
    printf("%10s %8s %14s %10s %11s%s%s\n", "processors", "used", "time", "speed-up", "efficiency",
           p->kind == CAL_JUNG ? "       by price" : "", trunk ? "    trunk" : "");
    const cal_plan_row* fastest = cal_plan_fastest(p);
    for (int i = 0; i < p->count; i++) {
        const cal_plan_row* r = &p->rows[i];
        if (!is_shown(p, fastest, i)) continue;
        // The unit of time may be wider in bytes than on the screen.
        const char* time = cal_duration_text(r->seconds, text[3], sizeof text[3]);
        printf("%10d %8d %*s %10.2f %9.0f %%", r->processors, r->used, strstr(time, "µ") ? 15 : 14, time, r->speedup,
               100 * r->speedup / r->used);
        if (r->price > 0)
            printf(" %*s", strstr(cal_duration_text(r->price, text[3], sizeof text[3]), "µ") ? 15 : 14,
                   cal_duration_text(r->price, text[3], sizeof text[3]));
        if (trunk) printf(" %8d", r->trunk);
        printf("\n");
    }
    const cal_plan_row *best = cal_plan_fastest(p), *last = &p->rows[p->count - 1];
    if (trunk)
        printf(
            "\ntrunk: joints that every processor computes which has something below them; 0: cuts are handed over.\n");
    if (last->used < last->processors)
        printf("\n%d of %d processors are of use: a further one would cost more than it saves.\n", last->used,
               last->processors);
    else
        printf("\n%d processor%s %s of use.\n", last->used, last->used == 1 ? "" : "s", last->used == 1 ? "is" : "are");
    if (best->used < last->used) printf("Already %d give the shortest time.\n", best->used);
    printf("The longest path alone takes %s: no number of processors is faster.\n",
           cal_duration_text(depth * p->costs.compute, text[0], sizeof text[0]));
}

// Joints that hang together on one processor are a process.
static void write_processes(const cal_plan_question* p, const cal_joint_tree* tree, int32_t* process, FILE* file) {
    const int32_t* processors = p->processor_of_joint;
    cal_json json = {.file = file};
    int32_t* next = process + tree->count; // lists of the joints of a process, in the order of the tree
    int32_t* last = next + tree->count;
    for (int i = 0; i < tree->count; i++) {
        const int joint = tree->order[i], parent = tree->parent[joint];
        const bool first = parent < 0 || processors[parent] != processors[joint];
        process[joint] = first ? joint : process[parent];
        next[joint] = -1;
        if (!first) next[last[process[joint]]] = joint;
        last[process[joint]] = joint;
    }
    cal_json_open(&json, NULL, '{');
    cal_json_integer(&json, "processors", p->rows[p->count - 1].used);
    cal_json_open(&json, "processes", '[');
    for (int i = 0; i < tree->count; i++) {
        const int first = tree->order[i];
        if (process[first] != first) continue;
        cal_json_open(&json, NULL, '{');
        if (processors[first] == CAL_EVERY_PROCESSOR)
            cal_json_text(&json, "processor", "every");
        else
            cal_json_integer(&json, "processor", processors[first]);
        cal_json_open(&json, "joints", '[');
        for (int joint = first; joint >= 0; joint = next[joint]) {
            char name[128];
            cal_json_text(&json, NULL, cal_model_joint_name(p->model, joint, name, sizeof name));
        }
        cal_json_close(&json, ']');
        cal_json_close(&json, '}');
    }
    cal_json_close(&json, ']');
    cal_json_close(&json, '}');
}

static int save(const cal_plan_question* p, const cal_joint_tree* tree) {
    int32_t* lists = calloc(3 * (size_t)tree->count + 1, sizeof *lists);
    if (!lists) return cal_complain(CAL_EXIT_FAILED, "no memory for a placement of %d joints", tree->count);
    cal_whole_file* whole = NULL;
    cal_error error = {CAL_OK, ""};
    if (cal_whole_file_create(p->save, &whole, &error) == CAL_OK) {
        write_processes(p, tree, lists, cal_whole_file_stream(whole));
        cal_whole_file_close(whole, true, &error);
    }
    free(lists);
    return error.status != CAL_OK ? cal_complain_error(&error) : CAL_EXIT_DONE;
}

static void print_schedules(const cal_plan_question* p) {
    char text[3][32];
    const int joints = cal_model_joint_count(p->model);
    printf("%-13s %s: %d joint%s, %d on the longest path\n", "model", p->model_name, joints, joints == 1 ? "" : "s",
           cal_model_depth(p->model));
    printf("%-13s %s per joint, %s per message, %s\n\n", "costs",
           cal_duration_text(p->costs.compute, text[0], sizeof text[0]),
           cal_duration_text(p->costs.message, text[1], sizeof text[1]), p->measured ? "measured here" : "as given");
    printf("%10s %8s %8s %8s %8s %12s %9s %10s %12s %9s\n", "processors", "used", "parts", "joins", "height",
           "operations", "messages", "bytes", "time", "speed-up");
    const cal_plan_row* fastest = cal_plan_fastest(p);
    for (int i = 0; i < p->count; i++) {
        const cal_plan_row* r = &p->rows[i];
        const cal_schedule_report* s = &p->reports[i];
        if (!is_shown(p, fastest, i)) continue;
        const char* time = cal_duration_text(r->seconds, text[2], sizeof text[2]);
        printf("%10d %8d %8d %8d %8d %12.0f %9lld %10lld %*s %9.2f\n", r->processors, r->used, s->parts, s->joins,
               s->height, s->operations, (long long)s->messages, (long long)s->bytes, strstr(time, "µ") ? 13 : 12, time,
               r->speedup);
    }
    if (p->ranks > 0)
        printf(
            "\n%d ranks send %lld messages, %lld bytes per evaluation: the schedule's %lld and %lld, and the solver's "
            "sums.\n",
            p->ranks, (long long)p->sent_messages, (long long)p->sent_bytes, (long long)p->expected.messages,
            (long long)p->expected.bytes);
}

// The schedule of the last number of processors, as a tree.
static int say_schedules(const cal_plan_question* p) {
    const cal_plan_row* last = &p->rows[p->count - 1];
    char text[16], *tree = NULL;
    cal_error error = {CAL_OK, ""};
    const char* schedule = cal_plan_schedule_for(p, last->processors, text, sizeof text);
    if (p->json) {
        print_json(p);
        return CAL_EXIT_DONE;
    }
    print_schedules(p);
    const int length = cal_schedule_print(p->model, schedule, last->processors, &p->costs, NULL, 0, &error);
    if (length < 0) return cal_complain_error(&error);
    tree = malloc((size_t)length + 1);
    if (!tree) return cal_complain(CAL_EXIT_FAILED, "no memory for drawing '%s'", p->model_name);
    cal_schedule_print(p->model, schedule, last->processors, &p->costs, tree, (size_t)length + 1, &error);
    printf("\non %d processor%s, %s:\n%s", last->used, last->used == 1 ? "" : "s",
           cal_duration_text(last->seconds, text, sizeof text), tree);
    free(tree);
    return CAL_EXIT_DONE;
}

int cal_plan_say(const cal_plan_question* p) {
    if (p->reports) {
        const int said = say_schedules(p);
        return said == CAL_EXIT_DONE ? cal_finish_output(said) : said;
    }
    cal_joint_tree tree = {0};
    int status = CAL_EXIT_DONE;
    if ((p->save || p->tree) && !cal_joint_tree_create(p->model, &tree))
        status = cal_complain(CAL_EXIT_FAILED, "no memory for the tree of '%s'", p->model_name);
    if (status == CAL_EXIT_DONE && p->save && cal_is_first_rank()) status = save(p, &tree);
    if (status == CAL_EXIT_DONE) {
        if (p->json)
            print_json(p);
        else
            print_table(p);
        if (p->tree) {
            printf("\non %d processor%s:\n", p->rows[p->count - 1].used, p->rows[p->count - 1].used == 1 ? "" : "s");
            if (!cal_joint_tree_draw(&tree, p->model, p->processor_of_joint))
                status = cal_complain(CAL_EXIT_FAILED, "no memory for drawing '%s'", p->model_name);
        }
    }
    cal_joint_tree_destroy(&tree);
    return status == CAL_EXIT_DONE ? cal_finish_output(status) : status;
}
