/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Workloads stand for their pods where a policy is checked before anything runs: a Deployment,
 * StatefulSet, DaemonSet, ReplicaSet, ReplicationController, Job or CronJob is one endpoint of its
 * own name, with the labels and ports of its pod template.
 */
#ifndef BULKHEAD_INPUT_WORKLOAD_H
#define BULKHEAD_INPUT_WORKLOAD_H

#include "input/object.h"

/* Reads a workload. One that another owns is left out: its owner stands for the pods. */
void workload_read(struct reader *reader, const struct object *object);

/*
 * Completes the workloads after the last input, before cluster_finish(): leaves out a workload of
 * which a pod is among the objects, and gives each of the others addresses by its name, in
 * 240.0.0.0/4 and 100::/64, which no pod has.
 */
void workloads_finish(struct cluster *cluster);

#endif
