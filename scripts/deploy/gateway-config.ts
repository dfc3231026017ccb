import { stringify } from 'yaml'
import type { Writer } from './manifests.ts'
import type { Values } from './values.ts'

const SECRETS = '/etc/gateway/secrets'

export function gatewayConfig(values: Values, writer: Writer): string {
  const { cluster, config } = values
  const lines = [
    stringify(ofAll(values, writer), { lineWidth: 0 }).trimEnd(),
    ...writer.items('.Values.cluster.enabled', cluster.enabled, [
      stringify({ cluster: ofReplicas(values, writer) }, { lineWidth: 0 }).trimEnd(),
    ]),
    typeof config === 'string' ? config : stringify(config, { lineWidth: 0 }).trimEnd(),
  ]
  return `${lines.join('\n')}\n`
}

function ofAll({ host, publicUrl, shutdown }: Values, { hosts, property }: Writer): object {
  const { delaySeconds, graceSeconds } = shutdown
  return {
    version: 1,
    listeners: {
      main: {
        type: 'http',
        host,
        port: 8080,
        ...property('.Values.publicUrl', publicUrl !== '', 'publicUrl', publicUrl),
        // Prometheus scrapes pods by IP address.
        allowedHosts: ['${env:POD_IP}', ...hosts],
      },
    },
    auth: { keysFile: `${SECRETS}/keys.txt` },
    shutdown: { delay: `${delaySeconds}s`, grace: `${graceSeconds}s` },
    metrics: {},
  }
}

/** Brackets allow for IPv6 pod addresses. */
function ofReplicas({ cluster }: Values, { name }: Writer): object {
  return {
    redis: cluster.redis === '' ? `redis://${name}-redis:6379` : cluster.redis,
    keys: [{ id: cluster.keyId, key: `\${file:${SECRETS}/cluster-key}` }],
    listen: '[${env:POD_IP}]:7900',
    address: '[${env:POD_IP}]:7900',
  }
}
