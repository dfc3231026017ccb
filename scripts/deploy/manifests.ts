import { gatewayConfig } from './gateway-config.ts'
import type { Values } from './values.ts'

/** Renders values as literals or template expressions. */
export interface Writer {
  /** Name of the service and pods. */
  readonly name: string
  /** Host names within the cluster. */
  readonly hosts: readonly string[]
  sum(...seconds: number[]): number
  text(value: number): string
  /** Pod annotations, such as a configuration digest. */
  readonly annotations?: Readonly<Record<string, string>>
  /** A property that is present if the expression holds. */
  property(expression: string, holds: boolean, name: string, value: unknown): object
  /** List items that are present if the expression holds. */
  items<T>(expression: string, holds: boolean, items: readonly T[]): readonly T[]
}

/** Chart conditions for optional manifests. */
export const WHEN = {
  cluster: '.Values.cluster.enabled',
  redis: 'and .Values.cluster.enabled .Values.redis.enabled',
  autoscaling: '.Values.autoscaling.enabled',
  network: '.Values.networkPolicy.enabled',
  replicasNetwork: 'and .Values.cluster.enabled .Values.networkPolicy.enabled',
  redisNetwork: 'and .Values.cluster.enabled .Values.redis.enabled .Values.networkPolicy.enabled',
  monitor: '.Values.serviceMonitor.enabled',
} as const

export interface Manifest {
  readonly file: string
  readonly object: object
  /** Absent if always included. */
  readonly when?: string
}

const PORT = 8080
const HANDED = 7900
const REDIS = 6379
const UID = 10_001
const SECRETS = '/etc/gateway/secrets'
const STATE = '/var/lib/gateway'

/** All Kubernetes manifests of a gateway. */
export function manifests(values: Values, writer: Writer): Manifest[] {
  const { name } = writer
  return [
    { file: 'serviceaccount', object: serviceAccount(name) },
    { file: 'configmap', object: configMap(values, writer) },
    { file: 'deployment', object: deployment(values, writer) },
    { file: 'service', object: service(name) },
    { file: 'networkpolicy', object: clients(name), when: WHEN.network },
    { file: 'networkpolicy-replicas', object: betweenPods(name), when: WHEN.replicasNetwork },
    { file: 'poddisruptionbudget', object: disruptionBudget(name), when: WHEN.cluster },
    { file: 'horizontalpodautoscaler', object: autoscaler(values, writer), when: WHEN.autoscaling },
    { file: 'redis-deployment', object: redis(values, name), when: WHEN.redis },
    { file: 'redis-service', object: redisService(name), when: WHEN.redis },
    { file: 'redis-networkpolicy', object: redisNetwork(name), when: WHEN.redisNetwork },
    { file: 'servicemonitor', object: monitor(values, name), when: WHEN.monitor },
  ]
}

/** Selector labels for the gateway or its Redis. */
function labels(name: string, component = 'gateway'): Record<string, string> {
  return {
    'app.kubernetes.io/name': 'tapgate',
    'app.kubernetes.io/instance': name,
    'app.kubernetes.io/component': component,
  }
}

function metadata(name: string, owner = name, component?: string): { name: string; labels: Record<string, string> } {
  return { name, labels: labels(owner, component) }
}

function serviceAccount(name: string): object {
  return {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: metadata(name),
    automountServiceAccountToken: false,
  }
}

function configMap(values: Values, writer: Writer): object {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: metadata(writer.name),
    data: { 'gateway.yaml': gatewayConfig(values, writer) },
  }
}

function deployment(values: Values, { name, annotations, property, sum }: Writer): object {
  const { replicas, autoscaling, shutdown } = values
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: metadata(name),
    spec: {
      ...property(`not ${WHEN.autoscaling}`, !autoscaling.enabled, 'replicas', replicas),
      revisionHistoryLimit: 3,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      selector: { matchLabels: labels(name) },
      template: {
        metadata: { labels: labels(name), ...(annotations === undefined ? {} : { annotations }) },
        spec: {
          serviceAccountName: name,
          automountServiceAccountToken: false,
          // shutdown.delay, shutdown.grace and a margin.
          terminationGracePeriodSeconds: sum(shutdown.delaySeconds, shutdown.graceSeconds, 5),
          securityContext: {
            runAsNonRoot: true,
            runAsUser: UID,
            runAsGroup: UID,
            fsGroup: UID,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: 'kubernetes.io/hostname',
              whenUnsatisfiable: 'ScheduleAnyway',
              labelSelector: { matchLabels: labels(name) },
            },
          ],
          containers: [container(values)],
          volumes: [
            { name: 'config', configMap: { name } },
            { name: 'secrets', secret: { secretName: values.secretName, defaultMode: 0o440 } },
            { name: 'state', emptyDir: {} },
          ],
        },
      },
    },
  }
}

function container({ image, resources, heapMegabytes }: Values): object {
  return {
    name: 'gateway',
    image: `${image.repository}:${image.tag}`,
    imagePullPolicy: image.pullPolicy,
    args: ['serve', '--watch', '-c', '/etc/gateway/config/gateway.yaml'],
    env: [
      { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
      { name: 'NODE_OPTIONS', value: `--max-old-space-size=${heapMegabytes}` },
    ],
    ports: [
      { name: 'http', containerPort: PORT },
      { name: 'replicas', containerPort: HANDED },
    ],
    // Checks only the event loop, not servers or Redis.
    startupProbe: probe('/livez', { periodSeconds: 2, failureThreshold: 60 }),
    livenessProbe: probe('/livez', { periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 3 }),
    readinessProbe: probe('/readyz', { periodSeconds: 2, timeoutSeconds: 2, failureThreshold: 1 }),
    resources,
    securityContext: CLOSED,
    volumeMounts: [
      { name: 'config', mountPath: '/etc/gateway/config', readOnly: true },
      { name: 'secrets', mountPath: SECRETS, readOnly: true },
      { name: 'state', mountPath: STATE },
    ],
  }
}

const CLOSED = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
}

/** Probes set an allowed Host; by default it is the pod address. */
function probe(path: string, timing: object): object {
  return { httpGet: { path, port: 'http', httpHeaders: [{ name: 'Host', value: 'localhost' }] }, ...timing }
}

function service(name: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadata(name),
    spec: { selector: labels(name), ports: [{ name: 'http', port: PORT, targetPort: 'http' }] },
  }
}

function clients(name: string): object {
  return policy(metadata(name), labels(name), [{ ports: [{ protocol: 'TCP', port: PORT }] }])
}

/** Replicas forward client requests to this port, so only they may connect. */
function betweenPods(name: string): object {
  const from = [{ podSelector: { matchLabels: labels(name) } }]
  return policy(metadata(`${name}-replicas`, name), labels(name), [
    { from, ports: [{ protocol: 'TCP', port: HANDED }] },
  ])
}

function policy(about: object, matchLabels: object, ingress: readonly object[]): object {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: about,
    spec: { podSelector: { matchLabels }, policyTypes: ['Ingress'], ingress },
  }
}

function disruptionBudget(name: string): object {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: metadata(name),
    spec: { maxUnavailable: 1, selector: { matchLabels: labels(name) } },
  }
}

function autoscaler({ autoscaling }: Values, { name, items, text }: Writer): object {
  const { minReplicas, maxReplicas, cpu, callsInFlight } = autoscaling
  const waiting = {
    type: 'Pods',
    pods: {
      metric: { name: 'tapgate_calls_in_flight' },
      target: { type: 'AverageValue', averageValue: text(callsInFlight) },
    },
  }
  return {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: metadata(name),
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name },
      minReplicas,
      maxReplicas,
      metrics: [
        {
          type: 'Resource',
          resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: cpu } },
        },
        ...items('.Values.autoscaling.callsInFlight', callsInFlight > 0, [waiting]),
      ],
      // Scale slowly, as sessions move with each removed pod.
      behavior: {
        scaleDown: {
          stabilizationWindowSeconds: 300,
          policies: [{ type: 'Pods', value: 1, periodSeconds: 120 }],
        },
      },
    },
  }
}

function redis({ redis: { image } }: Values, owner: string): object {
  const name = `${owner}-redis`
  const matchLabels = labels(owner, 'redis')
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: metadata(name, owner, 'redis'),
    spec: {
      replicas: 1,
      strategy: { type: 'Recreate' },
      selector: { matchLabels },
      template: {
        metadata: { labels: matchLabels },
        spec: {
          automountServiceAccountToken: false,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 999,
            runAsGroup: 999,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          containers: [
            {
              name: 'redis',
              image,
              args: ['redis-server', '--save', '', '--appendonly', 'no'],
              ports: [{ name: 'redis', containerPort: REDIS }],
              readinessProbe: { tcpSocket: { port: 'redis' }, periodSeconds: 5 },
              resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '128Mi' } },
              securityContext: CLOSED,
              workingDir: '/tmp',
            },
          ],
        },
      },
    },
  }
}

function redisService(owner: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadata(`${owner}-redis`, owner, 'redis'),
    spec: {
      selector: labels(owner, 'redis'),
      ports: [{ name: 'redis', port: REDIS, targetPort: 'redis' }],
    },
  }
}

function redisNetwork(owner: string): object {
  const from = [{ podSelector: { matchLabels: labels(owner) } }]
  return policy(metadata(`${owner}-redis`, owner, 'redis'), labels(owner, 'redis'), [
    { from, ports: [{ protocol: 'TCP', port: REDIS }] },
  ])
}

function monitor({ serviceMonitor: { interval, secretKey }, secretName }: Values, name: string): object {
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'ServiceMonitor',
    metadata: metadata(name),
    spec: {
      selector: { matchLabels: labels(name) },
      endpoints: [
        {
          port: 'http',
          path: '/metrics',
          interval,
          authorization: { credentials: { name: secretName, key: secretKey } },
        },
      ],
    },
  }
}
