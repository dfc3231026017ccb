export function configReference(root: URL): Promise<[file: string, markdown: string][]>
