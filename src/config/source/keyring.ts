import { platformOf } from '../../util/platform.ts'

/** Commands of the keyring of a system. `{name}` stands for the name of an entry. */
interface SystemKeyring {
  /** Prints the secret. */
  readonly lookup: readonly string[]
  /** Reads `input` from its pipe: any program of the same user could read arguments. */
  readonly store: readonly string[]
  readonly input: (name: string, secret: string) => string
  readonly clear: readonly string[]
}

const SECRET_TOOL = ['service', 'tapgate', 'name', '{name}']

const KEYRINGS: Readonly<Partial<Record<NodeJS.Platform, SystemKeyring>>> = {
  linux: {
    lookup: ['secret-tool', 'lookup', ...SECRET_TOOL],
    store: ['secret-tool', 'store', '--label=tapgate: {name}', ...SECRET_TOOL],
    input: (_name, secret) => secret,
    clear: ['secret-tool', 'clear', ...SECRET_TOOL],
  },
  darwin: {
    lookup: ['security', 'find-generic-password', '-s', 'tapgate', '-a', '{name}', '-w'],
    store: ['security', '-i'],
    input: (name, secret) =>
      `add-generic-password -U -s tapgate -a ${name} -X ${Buffer.from(secret).toString('hex')}\n`,
    clear: ['security', 'delete-generic-password', '-s', 'tapgate', '-a', '{name}'],
  },
}

/** The keyring of this system, where one is known. */
export function systemKeyring(): SystemKeyring | undefined {
  return KEYRINGS[platformOf().name]
}

/** A command of a keyring for one entry. */
export function forEntry(command: readonly string[], name: string): string[] {
  return command.map(word => word.replaceAll('{name}', name))
}
