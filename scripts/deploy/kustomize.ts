import { stringify } from 'yaml'
import { type Manifest, manifests, WHEN, type Writer } from './manifests.ts'
import { defaultsOf, type Values, valuesSchema } from './values.ts'

const NAME = 'gateway'

const WRITER: Writer = {
  name: NAME,
  hosts: [NAME],
  sum: (...seconds) => seconds.reduce((sum, one) => sum + one, 0),
  text: String,
  property: (_expression, holds, name, value) => (holds ? { [name]: value } : {}),
  items: (_expression, holds, items) => (holds ? items : []),
}

const MADE = '# Made by scripts/deploy.ts.\n'
const OF_CLUSTER: ReadonlySet<string | undefined> = new Set([
  WHEN.cluster,
  WHEN.redis,
  WHEN.autoscaling,
  WHEN.replicasNetwork,
  WHEN.redisNetwork,
])

/** Files of the base and the replicas overlay, by path. */
export function kustomize(version: string): ReadonlyMap<string, string> {
  const one = defaultsOf(valuesSchema(version))
  const many: Values = {
    ...one,
    cluster: { ...one.cluster, enabled: true },
    autoscaling: { ...one.autoscaling, enabled: true },
  }
  const base = manifests(one, WRITER).filter(({ when }) => when === undefined || when === WHEN.network)
  const added = manifests(many, WRITER).filter(({ when }) => OF_CLUSTER.has(when))
  const before = base.find(({ file }) => file === 'deployment')?.object
  const after = manifests(many, WRITER).find(({ file }) => file === 'deployment')?.object
  return new Map([
    ...filesOf('base', base),
    ['base/gateway.yaml', MADE + configOf(one)],
    ['base/kustomization.yaml', MADE + stringify(kustomization(base, { files: ['gateway.yaml'] }))],
    ...filesOf('redis', added),
    ['redis/deployment-patch.yaml', MADE + written(patch(before, after))],
    ['redis/gateway.yaml', MADE + configOf(many)],
    [
      'redis/kustomization.yaml',
      MADE +
        stringify({
          ...kustomization(added, { behavior: 'replace', files: ['gateway.yaml'] }, ['../base']),
          patches: [{ path: 'deployment-patch.yaml' }],
        }),
    ],
  ])
}

function filesOf(folder: string, all: readonly Manifest[]): [string, string][] {
  return all
    .filter(({ file }) => file !== 'configmap')
    .map(({ file, object }) => [`${folder}/${file}.yaml`, MADE + written(object)])
}

function written(object: unknown): string {
  return stringify(object, { lineWidth: 0, aliasDuplicateObjects: false })
}

function configOf(values: Values): string {
  const made = manifests(values, WRITER).find(({ file }) => file === 'configmap')?.object
  return (made as { data: Record<string, string> }).data['gateway.yaml'] ?? ''
}

/** The ConfigMap name has a content digest, so that a change triggers a rollout. */
function kustomization(
  all: readonly Manifest[],
  config: object,
  before: readonly string[] = [],
): Record<string, unknown> {
  const own = all.filter(({ file }) => file !== 'configmap').map(({ file }) => `${file}.yaml`)
  return {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: [...before, ...own],
    configMapGenerator: [{ name: NAME, ...config }],
  }
}

/** Strategic merge patch between two manifests with equal lists. */
function patch(before: object | undefined, after: object | undefined): Record<string, unknown> {
  const { apiVersion, kind, metadata } = after as Record<string, unknown>
  const { name } = metadata as { name: string }
  return { apiVersion, kind, metadata: { name }, ...difference(before, after) }
}

function difference(before: unknown, after: unknown): Record<string, unknown> {
  const [one, other] = [before, after] as [Record<string, unknown>, Record<string, unknown>]
  const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])]
  const changed = keys.filter(key => JSON.stringify(one[key]) !== JSON.stringify(other[key]))
  return Object.fromEntries(changed.map(key => [key, changeOf(one[key], other[key])]))
}

/** Null removes a key. */
function changeOf(was: unknown, is: unknown): unknown {
  return isMap(was) && isMap(is) ? difference(was, is) : (is ?? null)
}

function isMap(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
