// Forces in the joints, on all lanes of a column at once.
#include "pass/joint_force.h"
#include "pass/joint_force_columns.h"

void cal_joint_forces(const cal_context* context, int index) {
    find_joint_forces(context, &context->layout->columns[index]);
}
