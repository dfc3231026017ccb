import { defineErrors, defineFindings, RPC } from '../../src/plugin.ts'

export const ERRORS = {
  GW_CLUSTER_PACKAGE: {
    text: 'cluster needs the package @redis/client, which cannot be loaded: {why}',
    hint: 'Install it beside the gateway: npm install @redis/client.',
    exit: 3,
  },
  GW_CLUSTER_KEY: {
    text: 'the key "{id}" of cluster.keys is not 32 random bytes or more as base64 or hex',
    hint: 'Make one with: openssl rand -base64 32.',
    exit: 3,
  },
  GW_CLUSTER_LISTEN: {
    text: 'cannot take requests of other replicas at {address}: {why}',
    hint: 'Choose another cluster.listen.',
    exit: 4,
  },
  GW_CLUSTER_TLS: {
    text: 'the certificates of cluster.tls cannot be used: {why}',
    hint: 'Give three PEM files: the certificate of this replica, its key, and the authority of all replicas.',
    exit: 3,
  },
  GW_CLUSTER_CHANGED: {
    text: 'of cluster, only its keys and the files of its tls can be changed while the gateway runs',
    hint: 'Restart this replica; the others serve meanwhile.',
    exit: 3,
  },
  GW_CLUSTER_AWAY: {
    text: 'the memory that replicas share does not answer: {why}',
    hint: 'Look at "gateway replicas", and at Redis itself where cluster is set. Sessions of this replica are served as ever.',
    http: 503,
    rpc: RPC.internal,
  },
} as const

export const clusterError = defineErrors(ERRORS)

export const HEALTH = {
  'cluster-store-away': {
    level: 'warning',
    text: 'what replicas share does not answer: new replicas cannot be found, and each replica allows its part of a limit',
    fix: 'Look at Redis and at cluster.redis',
  },
  'cluster-store-refuses': {
    level: 'error',
    text: 'Redis refuses what replicas ask of it: {why}',
    fix: 'Give the user of cluster.redis its rights, or Redis more memory; see docs/deploy.md',
  },
  'cluster-clocks': {
    level: 'error',
    text: 'the clock of another replica is {how}, or somebody repeats old requests of it: they are not taken',
    fix: 'Let both machines ask a time server; clocks may differ by 20 s',
  },
  'cluster-plain': {
    level: 'warning',
    text: 'requests of clients, and their tokens, travel between replicas without TLS, to {address}',
    fix: 'Set cluster.tls, or keep cluster.listen on a network that nobody else can listen to',
  },
  'cluster-mixed': {
    level: 'warning',
    text: 'replicas differ: {what}',
    fix: 'Give all replicas the same version and configuration; see: gateway replicas',
  },
} as const

export const found = defineFindings(HEALTH)
