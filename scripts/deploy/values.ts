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
  const image = object('The image, as the Dockerfile builds it.', {
    repository: text('Where it is.', 'tapgate', { minLength: 1 }),
    tag: text('Its tag.', version, { minLength: 1 }),
    pullPolicy: text('When it is pulled.', 'IfNotPresent', { enum: ['Always', 'IfNotPresent', 'Never'] }),
  })
  const shutdown = object('How a pod stops. The cluster waits for both, and five seconds more.', {
    delaySeconds: count('Time for load balancers to see that it is not ready: shutdown.delay.', 10),
    graceSeconds: count('Time for calls under way: shutdown.grace.', 30),
  })
  const cluster = object('Pods that are replicas of one gateway.', {
    enabled: flag('Whether they are. Needed for more than one pod.', false),
    redis: text('URL of Redis; empty for the one of this chart. A password belongs into the secret: ${file:/etc/gateway/secrets/redis-url}.', ''), // prettier-ignore
    keyId: text('Name of the key in the file cluster-key of the secret.', 'a', {
      pattern: '^[A-Za-z0-9]{1,16}$',
    }),
  })
  const autoscaling = object('More pods for more calls.', {
    enabled: flag('Whether a HorizontalPodAutoscaler decides how many there are.', false),
    minReplicas: count('Fewest pods.', 2, 1),
    maxReplicas: count('Most pods.', 8, 1),
    cpu: count('Percent of the requested processor time that a pod should use.', 70, 1),
    callsInFlight: count('Calls that a pod should have under way; 0 leaves it out. Needs an adapter that serves tapgate_calls_in_flight as a metric of pods.', 32), // prettier-ignore
  })
  const redis = object('A Redis beside it that keeps nothing on disk.', {
    enabled: flag('Whether it is started, where cluster.enabled is true.', true),
    image: text('Its image.', 'redis:7.4-alpine', { minLength: 1 }),
  })
  const networkPolicy = object('Who may connect to what.', {
    enabled: flag('Whether only other pods of the gateway reach port 7900, and only they Redis.', true),
  })
  const serviceMonitor = object('For the Prometheus operator.', {
    enabled: flag('Whether it is told of /metrics.', false),
    interval: text('Time between two looks.', '30s', { pattern: '^\\d+(s|m)$' }),
    secretKey: text('Key of the secret under which an API key for /metrics is.', 'metrics-key', {
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
    ...object('Values of the chart tapgate.', {
      image,
      replicas: count('Pods, where no autoscaler decides.', 1, 0),
      host: text('Address at which a pod listens; "::" where pods have IPv6 only.', '0.0.0.0', {
        minLength: 1,
      }),
      publicUrl: text('URL by which clients reach the gateway, such as https://mcp.example.com. Empty where they use the name of the service.', ''), // prettier-ignore
      secretName: text('Secret with the files keys.txt and, for a cluster, cluster-key.', 'gateway', {
        minLength: 1,
      }),
      heapMegabytes: count('Most memory for objects: three quarters of the limit.', 384, 64),
      resources: {
        description: 'Resources of a pod. Request and limit of memory should be the same.',
        type: 'object',
        default: { requests: { cpu: '500m', memory: '512Mi' }, limits: { memory: '512Mi' } },
      },
      ...rest,
      config: {
        description: 'More of gateway.yaml, such as upstreams.',
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
        value.properties === undefined
          ? ` ${JSON.stringify(value.default)}\n`
          : `\n${commented(value, depth + 1)}`
      return `${says}${indent}${name}:${content}`
    })
    .join(depth === 0 ? '\n' : '')
}
