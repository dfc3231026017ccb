const ADDRESS = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:[\]]+)):(\d{1,5})$/
const MOST_PORT = 65_535

/** Place at which a replica takes requests. */
export interface Reach {
  readonly host: string
  readonly port: number
}

/** The parts of `host:port`, or of `[address]:port`; undefined for anything else. */
export function hostAndPort(text: string): Reach | undefined {
  const [, six, host = six, port] = ADDRESS.exec(text) ?? []
  return host === undefined || Number(port) > MOST_PORT ? undefined : { host, port: Number(port) }
}

/** True for a host at which nobody can be reached, as it stands for every address of a machine. */
export function isEverywhere(host: string): boolean {
  return host === '0.0.0.0' || host === '::' || /^[0:]+$/.test(host)
}

/** True for a host that only programs of the same machine reach. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

export function addressOf(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
