const ADDRESS = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:[\]]+)):(\d{1,5})$/
const MAX_PORT = 65_535

export interface Address {
  readonly host: string
  readonly port: number
}

/** Parses `host:port` or `[address]:port`; returns undefined if invalid. */
export function parseAddress(text: string): Address | undefined {
  const [, six, host = six, port] = ADDRESS.exec(text) ?? []
  return host === undefined || Number(port) > MAX_PORT ? undefined : { host, port: Number(port) }
}

/** True for a host that binds all addresses. */
export function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::' || /^[0:]+$/.test(host)
}

/** True for a host that is reachable only from the same machine. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

export function formatAddress({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
