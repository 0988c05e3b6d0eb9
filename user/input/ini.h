/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The INI form: the same objects in fewer words.
 *
 * Lines are shorter than 200 bytes; one that begins with white space goes on
 * with the value of the key above it. A line that begins with ; or # is a
 * comment, and so is what follows a ; after white space. A section is one
 * object, a key stands once in it, `ingress`, `egress` and `port` as often as
 * wanted. An error names the key, and the line where the value goes wrong.
 *
 *   [bulkhead]
 *   node = NAME                    which node this is
 *   uplink = INTERFACE, ...
 *   service-cidr = CIDR, ...       addresses of Services that no input tells of
 *   resolver = ADDRESS, ...        whose DNS answers count for names(), in place of the defaults
 *
 *   [namespace NAME]
 *   labels = KEY=VALUE, ...
 *   isolation = DefaultDeny        as extensions/v1beta1 isolates for ingress
 *   audit = yes | no
 *
 *   [node NAME]
 *   ip = ADDRESS, ...
 *   labels = KEY=VALUE, ...
 *
 *   [endpoint NAMESPACE/NAME]      a pod
 *   ip = ADDRESS, ...              none: it is expected, and a plugin will bring its addresses
 *   uid = UID                      the pod's
 *   node = NAME
 *   interface = NAME               host side
 *   mac = XX:XX:XX:XX:XX:XX
 *   labels = KEY=VALUE, ...
 *   port = NAME PROTOCOL/NUMBER, ...
 *   mode = l2 | l3                 on a bridge or not: the kernel knows, and l2 confirms it
 *   allow-source = CIDR, ...       further addresses it may send from, as a gateway does for its
 *                                  clients: its policy has a say in what these send and get, and
 *                                  the policy of others knows the clients by their addresses
 *   audit = yes | no
 *
 *   [service NAMESPACE/NAME]
 *   address = ADDRESS, ...         the cluster's, one of each IP version; none: it is headless
 *   external-address = ADDRESS, ...  external ones and load balancers'
 *   port = [NAME] PROTOCOL/NUMBER [to TARGET] [node NUMBER], ...
 *                                  TARGET is the backends' port, by number or by their name for it;
 *                                  `node` is a port of every node. Of several, each has a NAME
 *   backends = endpoints(KEY=VALUE, ...) | ADDRESS [to NUMBER], ...
 *                                  pods of the Service's namespace, or addresses
 *   internal-traffic = Cluster | Local   Local: from inside, only backends of the caller's node
 *   external-traffic = Cluster | Local   ... from outside, of the node that the packet comes to
 *
 *   [network-policy NAMESPACE/NAME]          networking.k8s.io/v1
 *   [network-policy-v1beta1 NAMESPACE/NAME]  extensions/v1beta1: no types, egress or cidr
 *   endpoints = SELECTOR
 *   types = Ingress, Egress
 *   ingress = [from PEERS] [ports PORTS]
 *   egress = [to PEERS] [ports PORTS]
 *
 *   [admin-network-policy NAME]              policy.networking.k8s.io/v1alpha1
 *   [baseline-admin-network-policy NAME]     the same, without a priority
 *   [cluster-network-policy NAME]            policy.networking.k8s.io/v1alpha2
 *   tier = Admin | Baseline                  of a cluster-network-policy
 *   priority = 0 to 1000
 *   subject = namespaces(SELECTOR) | endpoints(SELECTOR [in namespaces(SELECTOR)])
 *   ingress = [NAME:] ACTION from PEERS [ports PORTS]
 *   egress = [NAME:] ACTION to PEERS [ports PORTS]
 *
 *   audit = yes | no               of any policy: it has no effect, and the flows that it would
 *                                  deny are counted and reported
 *
 * SELECTOR is what `kubectl -l` takes; nothing selects all:
 *   KEY=VALUE  KEY==VALUE  KEY!=VALUE  KEY in (VALUE, ...)  KEY notin (VALUE, ...)  KEY  !KEY
 * with commas between. ACTION is Allow (cluster-network-policy: Accept), Deny or Pass.
 *
 * PEERS is `any`, `none` (v1beta1 only: an empty list, which matches nothing),
 * or some of these, with commas between:
 *   endpoints(SELECTOR)              of the policy's namespace; of all in cluster-scoped kinds
 *   endpoints(SELECTOR in NAMESPACES)
 *   NAMESPACES                       all endpoints of them
 *   cidr(CIDR [except CIDR, ...])    except: network-policy only; cluster-scoped: egress only
 *   nodes(SELECTOR)                  cluster-scoped kinds, egress only
 *   names(NAME, ...)                 domain names, or *.NAME for every name below NAME;
 *                                    cluster- and admin-network-policy, egress, Accept and Allow
 *                                    only, and no port names beside them
 * where NAMESPACES is namespaces(SELECTOR), or in the v1alpha1 kinds also self,
 * not-self, same-labels(KEY, ...) or not-same-labels(KEY, ...). These words may
 * be written as in the API too: notSelf, sameLabels.
 *
 * PORTS is `any`, `none` (v1beta1 only), or some of these, with commas between:
 *   PROTOCOL/NUMBER  PROTOCOL/NUMBER-NUMBER  PROTOCOL        TCP, UDP or SCTP
 *   NUMBER  NUMBER-NUMBER                                    of TCP
 *   NAME  PROTOCOL/NAME    a name is TCP's in a network-policy if it does not say; in the
 *                          cluster-scoped kinds it is of the protocol that the endpoint gives it
 */
#ifndef BULKHEAD_INPUT_INI_H
#define BULKHEAD_INPUT_INI_H

#include "input/tree_reader.h"

int ini_read(struct reader *reader, const char *text, size_t size);

#endif
