declare module '*?inline' {
  const address: string;
  export default address;
}
