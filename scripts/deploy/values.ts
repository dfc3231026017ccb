import type { JsonObject } from '../../src/protocol/json/json.ts'

/** JSON Schema of a value, with description and default. */
interface ValueSchema {
  readonly description?: string
  readonly type?: string | readonly string[]
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, ValueSchema>>
  readonly [keyword: string]: unknown
}

/** Chart values as used by manifests. */
export interface Values {
  readonly image: { readonly repository: string; readonly tag: string; readonly pullPolicy: string }
  readonly replicas: number
  readonly host: string
  readonly publicUrl: string
  readonly secretName: string
  readonly heapMegabytes: number
  readonly resources: JsonObject
  readonly shutdown: { readonly delaySeconds: number; readonly graceSeconds: number }
  readonly cluster: { readonly enabled: boolean; readonly redis: string; readonly keyId: string }
  readonly redis: { readonly enabled: boolean; readonly image: string }
  readonly autoscaling: {
    readonly enabled: boolean
    readonly minReplicas: number
    readonly maxReplicas: number
    readonly cpu: number
    readonly callsInFlight: number
  }
  readonly networkPolicy: { readonly enabled: boolean }
  readonly serviceMonitor: {
    readonly enabled: boolean
    readonly interval: string
    readonly secretKey: string
  }
  readonly config: JsonObject
}

const object = (description: string, properties: Readonly<Record<string, ValueSchema>>): ValueSchema => ({
  description,
  type: 'object',
  additionalProperties: false,
  properties,
})
const text = (description: string, value: string, more: object = {}): ValueSchema => ({
  description,
  type: 'string',
  default: value,
  ...more,
})
const count = (description: string, value: number, minimum = 0): ValueSchema => ({
  description,
  type: 'integer',
  minimum,
  default: value,
})
const flag = (description: string, value: boolean): ValueSchema => ({
  description,
  type: 'boolean',
  default: value,
})

/** Nested values. */
function groups(version: string): Record<string, ValueSchema> {
  const image = object('Container image.', {
    repository: text('Image repository.', 'tapgate', { minLength: 1 }),
    tag: text('Its tag.', version, { minLength: 1 }),
    pullPolicy: text('Image pull policy.', 'IfNotPresent', { enum: ['Always', 'IfNotPresent', 'Never'] }),
  })
  const shutdown = object('Pod shutdown. The termination grace period is the sum of both and 5 seconds.', {
    delaySeconds: count('Seconds for load balancers to notice the failing readiness probe: shutdown.delay.', 10),
    graceSeconds: count('Seconds for open calls: shutdown.grace.', 30),
  })
  const cluster = object('Several pods as replicas of one gateway.', {
    enabled: flag('Enables the cluster. Required for more than one pod.', false),
    redis: text('Redis URL; empty for the bundled Redis. Put a password into the secret: ${file:/etc/gateway/secrets/redis-url}.', ''), // prettier-ignore
    keyId: text('Name of the key in the file cluster-key of the secret.', 'a', {
      pattern: '^[A-Za-z0-9]{1,16}$',
    }),
  })
  const autoscaling = object('Autoscaling.', {
    enabled: flag('Creates a HorizontalPodAutoscaler.', false),
    minReplicas: count('Fewest pods.', 2, 1),
    maxReplicas: count('Most pods.', 8, 1),
    cpu: count('Target CPU utilization, in percent of the request.', 70, 1),
    callsInFlight: count('Target open calls per pod; 0 disables it. Needs an adapter that serves tapgate_calls_in_flight as a pod metric.', 32), // prettier-ignore
  })
  const redis = object('Bundled Redis without persistence.', {
    enabled: flag('Starts it, if cluster.enabled is true.', true),
    image: text('Its image.', 'redis:7.4-alpine', { minLength: 1 }),
  })
  const networkPolicy = object('Network policies.', {
    enabled: flag('Allows port 7900 only between gateway pods, and Redis only from them.', true),
  })
  const serviceMonitor = object('ServiceMonitor for the Prometheus operator.', {
    enabled: flag('Creates a ServiceMonitor for /metrics.', false),
    interval: text('Scrape interval.', '30s', { pattern: '^\\d+(s|m)$' }),
    secretKey: text('Secret key that holds an API key for /metrics.', 'metrics-key', {
      minLength: 1,
    }),
  })
  return { image, shutdown, cluster, redis, autoscaling, networkPolicy, serviceMonitor }
}

/** Schema of the chart's values. */
export function valuesSchema(version: string): ValueSchema {
  const { image = {}, ...rest } = groups(version)
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    ...object('Values of the tapgate chart.', {
      image,
      replicas: count('Number of pods, without autoscaling.', 1, 0),
      host: text('Listen address of a pod; "::" for IPv6-only clusters.', '0.0.0.0', {
        minLength: 1,
      }),
      publicUrl: text('URL at which clients reach the gateway, such as https://mcp.example.com; empty for the service name.', ''), // prettier-ignore
      secretName: text('Secret with the files keys.txt and, for a cluster, cluster-key.', 'gateway', {
        minLength: 1,
      }),
      heapMegabytes: count('V8 heap limit in MB; three quarters of the memory limit.', 384, 64),
      resources: {
        description: 'Pod resources. Memory request and limit should be equal.',
        type: 'object',
        default: { requests: { cpu: '500m', memory: '512Mi' }, limits: { memory: '512Mi' } },
      },
      ...rest,
      config: {
        description: 'Additional gateway.yaml content, such as upstreams.',
        type: 'object',
        default: { upstreams: {} },
      },
    }),
    // Without a cluster only one replica is possible, as sessions are local.
    if: { properties: { cluster: { properties: { enabled: { const: false } } } } },
    then: {
      properties: {
        replicas: { maximum: 1 },
        autoscaling: { properties: { enabled: { const: false } } },
      },
    },
  }
}

export function defaultsOf(schema: ValueSchema): Values {
  return valueOf(schema) as Values
}

function valueOf({ properties, default: value }: ValueSchema): unknown {
  if (properties === undefined) return value
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, valueOf(schema)]))
}

/** Paths of leaf values. */
export function leavesOf({ properties = {} }: ValueSchema, above = ''): string[] {
  return Object.entries(properties).flatMap(([name, schema]) =>
    schema.properties === undefined ? [`${above}.${name}`] : leavesOf(schema, `${above}.${name}`),
  )
}

/** Formats defaults with descriptions as values.yaml. */
export function commented(schema: ValueSchema, depth = 0): string {
  const indent = '  '.repeat(depth)
  return Object.entries(schema.properties ?? {})
    .map(([name, value]) => {
      const says = value.description === undefined ? '' : `${indent}# ${value.description}\n`
      const content =
        value.properties === undefined ? ` ${JSON.stringify(value.default)}\n` : `\n${commented(value, depth + 1)}`
      return `${says}${indent}${name}:${content}`
    })
    .join(depth === 0 ? '\n' : '')
}
