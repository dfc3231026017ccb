import { defineErrors, defineFindings, RPC } from '../../src/plugin.ts'

export const ERRORS = {
  GW_CLUSTER_PACKAGE: {
    text: 'cannot load the package @redis/client, which cluster requires: {why}',
    hint: 'Install it next to the gateway: npm install @redis/client.',
    exit: 3,
  },
  GW_CLUSTER_KEY: {
    text: 'key "{id}" of cluster.keys must be at least 32 random bytes as base64 or hex',
    hint: 'Create one with: openssl rand -base64 32.',
    exit: 3,
  },
  GW_CLUSTER_LISTEN: {
    text: 'cannot listen for other replicas at {address}: {why}',
    hint: 'Set cluster.listen to another address.',
    exit: 4,
  },
  GW_CLUSTER_TLS: {
    text: 'invalid certificates in cluster.tls: {why}',
    hint: 'Provide three PEM files: certificate and key of this replica, and the CA certificate of all replicas.',
    exit: 3,
  },
  GW_CLUSTER_CHANGED: {
    text: 'only the keys and certificate files of cluster can be changed by a reload',
    hint: 'Restart this replica; the others continue to serve.',
    exit: 3,
  },
  GW_CLUSTER_AWAY: {
    text: 'the shared store is unavailable: {why}',
    hint: 'Run "gateway replicas", and check Redis if cluster is configured. Sessions on this replica are not affected.',
    http: 503,
    rpc: RPC.internal,
  },
} as const

export const clusterError = defineErrors(ERRORS)

export const HEALTH = {
  'cluster-store-away': {
    level: 'warning',
    text: 'the shared store is unavailable: new replicas cannot be found, and each replica enforces its share of limits',
    fix: 'Check Redis and cluster.redis',
  },
  'cluster-store-refuses': {
    level: 'error',
    text: 'Redis rejects commands: {why}',
    fix: 'Grant the required permissions to the user of cluster.redis, or add memory to Redis; see docs/deploy.md',
  },
  'cluster-plain': {
    level: 'warning',
    text: 'client requests and tokens are forwarded between replicas without TLS, to {address}',
    fix: 'Set cluster.tls, or put cluster.listen on a private network',
  },
  'cluster-mixed': {
    level: 'warning',
    text: 'replicas differ: {what}',
    fix: 'Give all replicas the same version and configuration; see: gateway replicas',
  },
} as const

export const found = defineFindings(HEALTH)
