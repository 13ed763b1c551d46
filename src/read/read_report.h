// What a reader noticed: everything in a file that was not understood, or was understood and is not simulated. Nothing is
// dropped silently, and nothing is said twice: issues of the same kind, element and consequence are one issue with a count
// and the place of the first.
#pragma once
#include "calder/calder_read.h"
#include "read/xml.h"

// The kinds are public: CAL_ISSUE_NOT_UNDERSTOOD, CAL_ISSUE_NOT_SIMULATED, CAL_ISSUE_REPAIRED, CAL_ISSUE_NOTE.

cal_read_report* cal_report_create(void); // NULL when there is no memory

// Notes an issue at a node. `what` names the element or attribute ("<tendon>", "joint frictionloss"), `consequence` says in a
// few words what follows from it. A report that finds no memory remembers that, and cal_report_status says so.
#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
void cal_report_add(cal_read_report* report, const cal_xml_node* node, cal_issue_kind kind, const char* what,
                    const char* consequence, ...);

// CAL_OK, or CAL_NO_MEMORY when an issue was lost; with `strict`, CAL_BAD_MODEL when there is an issue that is more than a
// note, and the error names the first.
cal_status cal_report_status(const cal_read_report* report, bool strict, cal_error* error);
